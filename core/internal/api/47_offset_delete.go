package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// OffsetDelete (key 47), version 0.
//
// Behaviour: deletes committed offsets of topics that no member reads. Groups of
// others than consumers must have no members. Topics and partitions must exist.

// offsetDelete answers key 47.
func (a *API) offsetDelete(r *wire.Request) {
	var q kmsg.OffsetDeleteRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	fail := func(code kafka.ErrorCode) {
		resp := kmsg.NewPtrOffsetDeleteResponse()
		resp.ErrorCode = int16(code)
		r.ReplyMessage(resp)
	}
	switch {
	case !a.authorize(r, OpDelete, ResourceGroup, q.Group):
		fail(kafka.ErrGroupAuthorizationFailed)
		return
	case q.Group == "":
		fail(kafka.ErrInvalidGroupID)
		return
	}
	before := a.splitOffsetDelete(r, &q)
	to := collector(func(m kmsg.Response) {
		resp := m.(*kmsg.OffsetDeleteResponse)
		if resp.ErrorCode == 0 {
			mergeOffsetDelete(before, resp)
			resp = before
		}
		r.ReplyMessage(resp)
	})
	a.coordinate(q.Group, func(s *group.State, _ int64) group.Output { return s.DeleteOffsets(to, &q) }, fail)
}

// splitOffsetDelete leaves in q what exists and answers the rest.
func (a *API) splitOffsetDelete(r *wire.Request, q *kmsg.OffsetDeleteRequest) *kmsg.OffsetDeleteResponse {
	resp := kmsg.NewPtrOffsetDeleteResponse()
	img := a.image()
	good := q.Topics[:0]
	for _, t := range q.Topics {
		topic, known := img.Topic(t.Topic)
		allowed := a.authorize(r, OpRead, ResourceTopic, t.Topic)
		answer := kmsg.OffsetDeleteResponseTopic{Topic: t.Topic}
		partitions := t.Partitions[:0]
		for _, p := range t.Partitions {
			code := kafka.ErrUnknownTopicOrPartition
			switch {
			case !allowed:
				code = kafka.ErrTopicAuthorizationFailed
			case known && p.Partition >= 0 && int(p.Partition) < len(topic.Partitions):
				partitions = append(partitions, p)
				continue
			}
			answer.Partitions = append(answer.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(code)})
		}
		if len(answer.Partitions) > 0 {
			resp.Topics = append(resp.Topics, answer)
		}
		if t.Partitions = partitions; len(partitions) > 0 {
			good = append(good, t)
		}
	}
	q.Topics = good
	return resp
}

// mergeOffsetDelete adds the coordinator's answer to what was refused before.
func mergeOffsetDelete(resp, more *kmsg.OffsetDeleteResponse) {
	at := make(map[string]int, len(resp.Topics))
	for i, t := range slices.Backward(resp.Topics) { // the first of equals
		at[t.Topic] = i
	}
	for _, t := range more.Topics {
		if i, ok := at[t.Topic]; ok {
			resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, t.Partitions...)
			continue
		}
		at[t.Topic] = len(resp.Topics)
		resp.Topics = append(resp.Topics, t)
	}
}
