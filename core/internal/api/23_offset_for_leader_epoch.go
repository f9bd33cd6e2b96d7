package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// OffsetForLeaderEpoch (key 23), versions 2–4.
//
// Behaviour: who may do CLUSTER_ACTION, a follower, may ask about every topic, anybody
// else about those that it may describe. The answer is the largest epoch that is not larger than the one asked for, and the
// offset where it ends; (-1, -1) when there is none. Epochs are fenced as in
// KIP-320. Everything is in memory.

// offsetForLeaderEpoch answers key 23.
func (a *API) offsetForLeaderEpoch(r *wire.Request) {
	var q kmsg.OffsetForLeaderEpochRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	all := q.ReplicaID >= 0 && a.authorizeCluster(r, OpClusterAction)
	for i := range q.Topics {
		t := kmsg.NewOffsetForLeaderEpochResponseTopic()
		t.Topic = q.Topics[i].Topic
		allowed := all || a.authorize(r, OpDescribe, ResourceTopic, t.Topic)
		for _, p := range q.Topics[i].Partitions {
			out := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			out.Partition = p.Partition
			epoch, end, code := kafka.NoLeaderEpoch, kafka.NoOffset, kafka.ErrTopicAuthorizationFailed
			if allowed {
				epoch, end, code = a.epochEnd(t.Topic, &p)
			}
			out.LeaderEpoch, out.EndOffset, out.ErrorCode = int32(epoch), int64(end), int16(code)
			t.Partitions = append(t.Partitions, out)
		}
		resp.Topics = append(resp.Topics, t)
	}
	r.ReplyMessage(resp)
}

// epochEnd looks one partition's epoch up.
func (a *API) epochEnd(topic string, q *kmsg.OffsetForLeaderEpochRequestTopicPartition) (kafka.LeaderEpoch, kafka.Offset, kafka.ErrorCode) {
	p, code := a.deps.Roles.ByName(topic, q.Partition)
	if code != kafka.None {
		return kafka.NoLeaderEpoch, kafka.NoOffset, code
	}
	return p.EpochEnd(kafka.LeaderEpoch(q.LeaderEpoch), kafka.LeaderEpoch(q.CurrentLeaderEpoch))
}
