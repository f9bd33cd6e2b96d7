package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// AddRaftVoter (key 80), versions 0–1.
//
// Behaviour: a node that follows the control log votes from now on. It must be one that
// DescribeQuorum lists as an observer, with its directory. Nodes find each other by
// themselves, so that of the addresses in the request only the name of the listener
// counts. The answer comes when the change is committed: whoever is content with less
// (version 1) gets more.

// addRaftVoter answers key 80.
func (a *API) addRaftVoter(r *wire.Request) {
	q := new(kmsg.AddRaftVoterRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrAddRaftVoterResponse()
	answer := func(why *kafka.Error) {
		resp.ErrorCode, resp.ErrorMessage = a.code(r, why), fullText(why)
		r.ReplyMessage(resp)
	}
	if !a.authorizeCluster(r, OpAlter) {
		answer(kafka.ErrClusterAuthorizationFailed.Err(""))
		return
	}
	a.later(r, func(ctx context.Context) {
		ctx, stop := withTimeout(ctx, q.TimeoutMillis)
		defer stop()
		quorum := a.deps.Control.Quorum()
		if why := refuseNewVoter(a.image(), &quorum, q); why != nil {
			answer(why)
			return
		}
		answer(a.refusal(a.deps.Control.AddVoter(ctx, kafka.BrokerID(q.VoterID))))
	})
}

// refuseNewVoter says why a node can't be made a voter, in Kafka's order; nil: it can.
func refuseNewVoter(img *meta.Image, quorum *meta.Quorum, q *kmsg.AddRaftVoterRequest) *kafka.Error {
	key := voterKey{kafka.BrokerID(q.VoterID), q.VoterDirectoryID}
	if why := key.check(img, q.ClusterID, "Add"); why != nil {
		return why
	}
	named := slices.ContainsFunc(q.Listeners, func(l kmsg.AddRaftVoterRequestListener) bool { return l.Name == quorumListener })
	voter := slices.ContainsFunc(quorum.Voters, func(v meta.QuorumReplica) bool { return v.ID == key.id })
	switch {
	case !named:
		return kafka.ErrInvalidRequest.Err(fmt.Sprintf("Add voter request didn't include the endpoint (%s) for the default listener ListenerName(%s)", endpointsText(q.Listeners), quorumListener))
	case voter:
		return kafka.ErrDuplicateVoter.Err(fmt.Sprintf("The voter id for %s is already part of the set of voters %s.", key, voterKeys(quorum.Voters)))
	case !key.among(quorum.Observers):
		return kafka.ErrRequestTimedOut.Err(fmt.Sprintf("New voter %s is not ready to receive requests", key))
	}
	return nil
}

// endpointsText are the addresses of a request in Kafka's words.
func endpointsText(listeners []kmsg.AddRaftVoterRequestListener) string {
	all := make([]string, len(listeners))
	for i, l := range listeners {
		all[i] = fmt.Sprintf("ListenerName(%s)=%s/<unresolved>:%d", l.Name, l.Host, l.Port)
	}
	return "Endpoints(endpoints={" + strings.Join(all, ", ") + "})"
}
