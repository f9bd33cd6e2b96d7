package api

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// AlterPartitionReassignments (key 45), versions 0–1.
//
// Behaviour: each partition by itself. The answer says that a move has begun; it is
// done when its new replicas are in sync, which key 46 tells. A null list of replicas
// gives a move up; another list changes it. From version 1 on a client can have a
// change of the number of replicas refused (KIP-860). Tools that move replicas between
// log directories (key 34) ask this first.

// alterPartitionReassignments answers key 45.
func (a *API) alterPartitionReassignments(r *wire.Request) {
	q := new(kmsg.AlterPartitionAssignmentsRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	resp.AllowReplicationFactorChange = q.AllowReplicationFactorChange
	if !a.authorizeCluster(r, OpAlter) {
		why := kafka.ErrClusterAuthorizationFailed.Err(kafka.ErrClusterAuthorizationFailed.Text())
		a.answerReassignments(r, q, resp, func(int, int) *kafka.Error { return why })
		resp.ErrorCode, resp.ErrorMessage = int16(why.Code), &why.Message
		r.ReplyMessage(resp)
		return
	}
	if len(q.Topics) == 0 {
		resp.ErrorMessage = kmsg.StringPtr("")
		r.ReplyMessage(resp)
		return
	}
	a.later(r, func(ctx context.Context) {
		ctx, stop := withTimeout(ctx, q.TimeoutMillis)
		defer stop()
		a.reassign(ctx, r, q, resp)
		r.ReplyMessage(resp)
	})
}

// reassign has the cluster decide.
func (a *API) reassign(ctx context.Context, r *wire.Request, q *kmsg.AlterPartitionAssignmentsRequest, resp *kmsg.AlterPartitionAssignmentsResponse) {
	img := a.fresh(ctx, func(img *meta.Image) bool { return knowsReassigned(img, q) })
	var asked []meta.Reassignment
	for i := range q.Topics {
		for j := range q.Topics[i].Partitions {
			if one, why := reassignment(img, q, i, j); why == nil {
				asked = append(asked, one)
			}
		}
	}
	var results []*kafka.Error
	var whole *kafka.Error
	if len(asked) > 0 {
		var err error
		results, err = a.deps.Control.AlterReassignments(ctx, asked)
		whole = a.refusal(err)
	}
	resp.ErrorCode, resp.ErrorMessage = a.code(r, whole), ownText(whole)
	a.answerReassignments(r, q, resp, func(topic, partition int) *kafka.Error {
		if whole != nil {
			return whole
		}
		if _, why := reassignment(img, q, topic, partition); why != nil {
			return why
		}
		why := results[0] // they come in the order of the request
		results = results[1:]
		return why
	})
}

// answerReassignments answers for every partition of a request, in its order.
func (a *API) answerReassignments(r *wire.Request, q *kmsg.AlterPartitionAssignmentsRequest, resp *kmsg.AlterPartitionAssignmentsResponse, of func(topic, partition int) *kafka.Error) {
	for i := range q.Topics {
		t := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		t.Topic = q.Topics[i].Topic
		for j := range q.Topics[i].Partitions {
			why := of(i, j)
			p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = q.Topics[i].Partitions[j].Partition, a.code(r, why), ownText(why)
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
}

// knowsReassigned reports whether all partitions of a request exist.
func knowsReassigned(img *meta.Image, q *kmsg.AlterPartitionAssignmentsRequest) bool {
	for i := range q.Topics {
		for j := range q.Topics[i].Partitions {
			if _, why := reassignment(img, q, i, j); why != nil {
				return false
			}
		}
	}
	return true
}

// reassignment is what a request asks for one partition, or why there is no such.
func reassignment(img *meta.Image, q *kmsg.AlterPartitionAssignmentsRequest, topic, partition int) (meta.Reassignment, *kafka.Error) {
	name, p := q.Topics[topic].Topic, &q.Topics[topic].Partitions[partition]
	t, ok := img.Topic(name)
	switch {
	case !ok:
		return meta.Reassignment{}, kafka.ErrUnknownTopicOrPartition.Err("Unable to find a topic named " + name + ".")
	case p.Partition < 0 || int(p.Partition) >= len(t.Partitions):
		return meta.Reassignment{}, kafka.ErrUnknownTopicOrPartition.Err(fmt.Sprintf("Unable to find partition %s:%d.", name, p.Partition))
	}
	out := meta.Reassignment{PartitionID: meta.PartitionID{Topic: t.ID, Partition: p.Partition}, KeepFactor: q.Version >= 1 && !q.AllowReplicationFactorChange}
	if p.Replicas != nil {
		out.Replicas = brokerIDs(p.Replicas)
	}
	return out, nil
}
