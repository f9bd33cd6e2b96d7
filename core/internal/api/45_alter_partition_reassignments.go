package api

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// AlterPartitionReassignments (key 45), versions 0–1.
//
// Behaviour: asking for the replicas that a partition has is done at once; asking for
// none ends a move, of which there is none; what can't be is refused in Kafka's words.
// Tools that move replicas between log directories (key 34) ask this first.
//
// Not done: a partition does not move to other brokers, because a cluster has one. A
// target that is legal and not what there is can't be asked for.

// alterPartitionReassignments answers key 45.
func (a *API) alterPartitionReassignments(r *wire.Request) {
	var q kmsg.AlterPartitionAssignmentsRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	resp.AllowReplicationFactorChange = q.AllowReplicationFactorChange
	if !a.authorizeCluster(r, OpAlter) {
		resp.ErrorCode = int16(kafka.ErrClusterAuthorizationFailed)
		resp.ErrorMessage = kmsg.StringPtr(kafka.ErrClusterAuthorizationFailed.Text())
		r.ReplyMessage(resp)
		return
	}
	img := a.image()
	if len(q.Topics) == 0 {
		resp.ErrorMessage = kmsg.StringPtr("")
	}
	for i := range q.Topics {
		from := &q.Topics[i]
		t := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		t.Topic = from.Topic
		for _, p := range from.Partitions {
			out := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			why := checkReassignment(img, from.Topic, p.Partition, p.Replicas)
			out.Partition, out.ErrorCode, out.ErrorMessage = p.Partition, a.code(r, why), ownText(why)
			t.Partitions = append(t.Partitions, out)
		}
		resp.Topics = append(resp.Topics, t)
	}
	r.ReplyMessage(resp)
}

// checkReassignment says why a partition can't get the replicas; nil: it has them.
func checkReassignment(img *meta.Image, topic string, number int32, replicas []int32) *kafka.Error {
	t, ok := img.Topic(topic)
	switch {
	case !ok:
		return kafka.ErrUnknownTopicOrPartition.Err("Unable to find a topic named " + topic + ".")
	case number < 0 || int(number) >= len(t.Partitions):
		return kafka.ErrUnknownTopicOrPartition.Err(fmt.Sprintf("Unable to find partition %s:%d.", topic, number))
	case replicas == nil:
		return kafka.ErrNoReassignmentInProgress.Err("")
	}
	target := make([]kafka.BrokerID, len(replicas))
	for i, id := range replicas {
		target[i] = kafka.BrokerID(id)
	}
	if why := img.CheckReplicas(target); why != nil {
		return why
	}
	if !slices.Equal(target, t.Partitions[number].Replicas) {
		return kafka.ErrInvalidReplicaAssignment.Err("This cluster does not move partitions between brokers.")
	}
	return nil
}
