package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// ListPartitionReassignments (key 46), version 0.
//
// Behaviour: the partitions whose replicas are being moved, of the given topics or
// of all. Topics and partitions that do not exist, or do not move, are left out.

// listPartitionReassignments answers key 46.
func (a *API) listPartitionReassignments(r *wire.Request) {
	var q kmsg.ListPartitionReassignmentsRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	if !a.authorizeCluster(r, OpDescribe) {
		resp.ErrorCode = int16(kafka.ErrClusterAuthorizationFailed)
		resp.ErrorMessage = kmsg.StringPtr(kafka.ErrClusterAuthorizationFailed.Text())
		r.ReplyMessage(resp)
		return
	}
	add := func(t *meta.Topic, numbers []int32) {
		if moving := reassignments(t, numbers); len(moving) > 0 {
			resp.Topics = append(resp.Topics, kmsg.ListPartitionReassignmentsResponseTopic{Topic: t.Name, Partitions: moving})
		}
	}
	img := a.image()
	if q.Topics == nil && img.Reassigning() > 0 {
		for t := range img.Topics() {
			add(t, nil)
		}
	}
	for i := range q.Topics {
		if t, ok := img.Topic(q.Topics[i].Topic); ok {
			add(t, append([]int32{}, q.Topics[i].Partitions...))
		}
	}
	r.ReplyMessage(resp)
}

// reassignments are the moving partitions of a topic among the numbers; nil: among
// all.
func reassignments(t *meta.Topic, numbers []int32) (out []kmsg.ListPartitionReassignmentsResponseTopicPartition) {
	look := func(n int32) {
		if n < 0 || int(n) >= len(t.Partitions) {
			return
		}
		p := &t.Partitions[n]
		if len(p.Adding) == 0 && len(p.Removing) == 0 {
			return
		}
		out = append(out, kmsg.ListPartitionReassignmentsResponseTopicPartition{
			Partition: n, Replicas: ids(p.Replicas), AddingReplicas: ids(p.Adding), RemovingReplicas: ids(p.Removing)})
	}
	if numbers == nil {
		for n := range t.Partitions {
			look(int32(n))
		}
	}
	for _, n := range numbers {
		look(n)
	}
	return out
}
