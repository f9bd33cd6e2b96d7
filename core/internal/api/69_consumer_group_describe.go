package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// ConsumerGroupDescribe (key 69), versions 0–1.
//
// Behaviour: groups of the consumer protocol, in the order of the request; others are
// GROUP_ID_NOT_FOUND, and clients ask with DescribeGroups then. Version 1 says which
// protocol each member uses.

// consumerGroupDescribe answers key 69.
func (a *API) consumerGroupDescribe(r *wire.Request) {
	var q kmsg.ConsumerGroupDescribeRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrConsumerGroupDescribeResponse()
	resp.Groups = make([]kmsg.ConsumerGroupDescribeResponseGroup, len(q.Groups))
	parts := newCountdown(len(q.Groups), func() {
		for i := range resp.Groups {
			if g := &resp.Groups[i]; g.ErrorCode == 0 {
				a.hideTopics(r, g)
				if q.IncludeAuthorizedOperations {
					g.AuthorizedOperations = a.allowedOperations(r, ResourceGroup, g.Group)
				}
			}
		}
		r.ReplyMessage(resp)
	})
	for i, id := range q.Groups {
		fail := func(code kafka.ErrorCode) {
			g := kmsg.NewConsumerGroupDescribeResponseGroup()
			g.Group, g.ErrorCode = id, int16(code)
			resp.Groups[i] = g
			parts.done()
		}
		switch {
		case !a.authorize(r, OpDescribe, ResourceGroup, id):
			fail(kafka.ErrGroupAuthorizationFailed)
			continue
		case id == "":
			fail(kafka.ErrInvalidGroupID)
			continue
		}
		to := collector(func(m kmsg.Response) {
			resp.Groups[i] = m.(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
			parts.done()
		})
		a.coordinate(id, func(s *group.State, now int64) group.Output {
			return reading(to, &kmsg.ConsumerGroupDescribeResponse{Groups: []kmsg.ConsumerGroupDescribeResponseGroup{s.DescribeConsumers(now, id)}})
		}, fail)
	}
	parts.done()
}

// hideTopics refuses a group whose members read topics that the client may not be told
// of.
func (a *API) hideTopics(r *wire.Request, g *kmsg.ConsumerGroupDescribeResponseGroup) {
	may := a.mayDescribe(r)
	if may == nil {
		return
	}
	for i := range g.Members {
		for _, list := range [...]kmsg.Assignment{g.Members[i].Assignment, g.Members[i].TargetAssignment} {
			for _, t := range list.TopicPartitions {
				if may(t.Topic) {
					continue
				}
				id := g.Group
				*g = kmsg.NewConsumerGroupDescribeResponseGroup()
				g.Group, g.ErrorCode = id, int16(kafka.ErrTopicAuthorizationFailed)
				g.ErrorMessage = kmsg.StringPtr("The group has described topic(s) that the client is not authorized to describe.")
				return
			}
		}
	}
}
