package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// Heartbeat (key 12), versions 0–4.
//
// Behaviour: room group. While the groups are being loaded every heartbeat is good:
// members shall not rebalance because their coordinator moved.

// heartbeat answers key 12.
func (a *API) heartbeat(r *wire.Request) {
	var q kmsg.HeartbeatRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	t := &ticket{a: a, r: r}
	refuse := func(code kafka.ErrorCode) {
		if code == kafka.ErrCoordinatorLoadInProgress {
			code = kafka.None
		}
		resp := kmsg.NewPtrHeartbeatResponse()
		resp.ErrorCode = int16(code)
		t.Answer(resp)
	}
	switch {
	case !a.authorize(r, OpRead, ResourceGroup, q.Group):
		refuse(kafka.ErrGroupAuthorizationFailed)
	case q.Group == "":
		refuse(kafka.ErrInvalidGroupID)
	default:
		a.coordinate(q.Group, func(s *group.State, now int64) group.Output {
			resp := kmsg.NewPtrHeartbeatResponse()
			resp.ErrorCode = int16(s.Heartbeat(now, &q))
			return reading(t, resp)
		}, refuse)
	}
}
