package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// DescribeQuorum (key 55), versions 0–2.
//
// Behaviour: the voters of the control plane in the order of their ids, told in terms
// of Kafka's own log of metadata, partition 0 of __cluster_metadata. A request for anything else is
// answered with UNKNOWN_TOPIC_OR_PARTITION for all that it asks for.

// quorumListener is the name that an address of a voter has in the answer.
const quorumListener = "CONTROLLER"

// describeQuorum answers key 55.
func (a *API) describeQuorum(r *wire.Request) {
	var q kmsg.DescribeQuorumRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrDescribeQuorumResponse()
	if !a.authorizeCluster(r, OpDescribe) {
		resp.ErrorCode = int16(kafka.ErrClusterAuthorizationFailed)
		resp.ErrorMessage = kmsg.StringPtr(kafka.ErrClusterAuthorizationFailed.Text())
		r.ReplyMessage(resp)
		return
	}
	resp.ErrorMessage = kmsg.StringPtr("")
	if !asksForQuorum(&q) {
		resp.Topics = unknownQuorums(&q)
		r.ReplyMessage(resp)
		return
	}
	a.later(r, func(context.Context) { // who leads is asked how far the others are
		a.tellQuorum(r, resp)
		r.ReplyMessage(resp)
	})
}

// tellQuorum fills the state of the voters in.
func (a *API) tellQuorum(r *wire.Request, resp *kmsg.DescribeQuorumResponse) {
	quorum := a.deps.Control.Quorum()
	quorum.Voters, quorum.Observers = byID(quorum.Voters), byID(quorum.Observers)
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.ErrorMessage = kmsg.StringPtr("")
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = int32(quorum.Leader), quorum.LeaderEpoch, quorum.HighWatermark
	p.CurrentVoters, p.Observers = a.replicaStates(&quorum, quorum.Voters), a.replicaStates(&quorum, quorum.Observers)
	resp.Topics = []kmsg.DescribeQuorumResponseTopic{{Topic: clusterMetadataTopic, Partitions: []kmsg.DescribeQuorumResponseTopicPartition{p}}}
	resp.Nodes = a.quorumNodes(r, &quorum)
}

// byID are replicas in the order of their ids.
func byID(all []meta.QuorumReplica) []meta.QuorumReplica {
	return slices.SortedFunc(slices.Values(all), func(x, y meta.QuorumReplica) int { return cmp.Compare(x.ID, y.ID) })
}

// asksForQuorum says whether a request is about the one thing that there is.
func asksForQuorum(q *kmsg.DescribeQuorumRequest) bool {
	return len(q.Topics) == 1 && q.Topics[0].Topic == clusterMetadataTopic &&
		len(q.Topics[0].Partitions) == 1 && q.Topics[0].Partitions[0].Partition == 0
}

// unknownQuorums answers for all that a request asks for that nobody knows.
func unknownQuorums(q *kmsg.DescribeQuorumRequest) (out []kmsg.DescribeQuorumResponseTopic) {
	for i := range q.Topics {
		t := kmsg.DescribeQuorumResponseTopic{Topic: q.Topics[i].Topic}
		for _, asked := range q.Topics[i].Partitions {
			p := kmsg.NewDescribeQuorumResponseTopicPartition()
			p.Partition, p.ErrorCode = asked.Partition, int16(kafka.ErrUnknownTopicOrPartition)
			p.ErrorMessage = kmsg.StringPtr(kafka.ErrUnknownTopicOrPartition.Text())
			t.Partitions = append(t.Partitions, p)
		}
		out = append(out, t)
	}
	return out
}

// replicaStates tells how far replicas have come. The leader is up to date by
// definition.
func (a *API) replicaStates(quorum *meta.Quorum, all []meta.QuorumReplica) (out []kmsg.DescribeQuorumResponseTopicPartitionReplicaState) {
	now := a.deps.Clock.Now()
	for _, replica := range all {
		s := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		s.ReplicaID, s.ReplicaDirectoryID, s.LogEndOffset = int32(replica.ID), replica.DirectoryID, replica.LogEndOffset
		if replica.ID == quorum.Leader {
			replica.LastFetch, replica.LastCaughtUp = now, now
		}
		s.LastFetchTimestamp, s.LastCaughtUpTimestamp = millisOrUnknown(replica.LastFetch), millisOrUnknown(replica.LastCaughtUp)
		out = append(out, s)
	}
	return out
}

// millisOrUnknown is a time on the wire; -1: not known.
func millisOrUnknown(t time.Time) int64 {
	if t.IsZero() {
		return -1
	}
	return clock.Millis(t)
}

// quorumNodes are the addresses of the voters. A voter without an address of its
// own is reached where its broker is.
func (a *API) quorumNodes(r *wire.Request, quorum *meta.Quorum) (out []kmsg.DescribeQuorumResponseNode) {
	img := a.image()
	for _, v := range quorum.Voters {
		host, port := v.Host, v.Port
		if b, ok := img.Broker(v.ID); ok && host == "" {
			if e, ok := b.Endpoint(r.Conn.Listener); ok {
				host, port = e.Host, e.Port
			}
		}
		out = append(out, kmsg.DescribeQuorumResponseNode{NodeID: int32(v.ID),
			Listeners: []kmsg.DescribeQuorumResponseNodeListener{{Name: quorumListener, Host: host, Port: uint16(port)}}})
	}
	return out
}
