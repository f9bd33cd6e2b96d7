package api

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// RemoveRaftVoter (key 81), version 0.
//
// Behaviour: a voter only follows the control log from now on; its broker serves as
// before. It is named by its id and its directory, as DescribeQuorum lists it.

// removeRaftVoter answers key 81.
func (a *API) removeRaftVoter(r *wire.Request) {
	var q kmsg.RemoveRaftVoterRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrRemoveRaftVoterResponse()
	answer := func(why *kafka.Error) {
		resp.ErrorCode, resp.ErrorMessage = a.code(r, why), fullText(why)
		r.ReplyMessage(resp)
	}
	if !a.authorizeCluster(r, OpAlter) {
		answer(kafka.ErrClusterAuthorizationFailed.Err(""))
		return
	}
	key := voterKey{kafka.BrokerID(q.VoterID), q.VoterDirectoryID}
	if why := key.check(a.image(), q.ClusterID, "Remove"); why != nil {
		answer(why)
		return
	}
	a.later(r, func(ctx context.Context) {
		ctx, stop := withTimeout(ctx, controlTimeout)
		defer stop()
		if quorum := a.deps.Control.Quorum(); !key.among(quorum.Voters) {
			answer(kafka.ErrVoterNotFound.Err(fmt.Sprintf("Cannot remove voter %s from the set of voters %s", key, voterKeys(quorum.Voters))))
			return
		}
		answer(a.refusal(a.deps.Control.RemoveVoter(ctx, key.id)))
	})
}
