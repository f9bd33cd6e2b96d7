package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// OffsetCommit (key 8), versions 2–10.
//
// Behaviour: topics and partitions must exist; those that don't are refused, and the
// others are committed. Who may commit: room group. Versions 2–4 can ask for a
// retention of their own; from version 9 on the generation may be the epoch of a
// member of the consumer protocol (KIP-848); version 10 names topics by id.

// offsetCommit answers key 8.
func (a *API) offsetCommit(r *wire.Request) {
	q := kmsg.NewPtrOffsetCommitRequest()
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	if !a.authorize(r, OpRead, ResourceGroup, q.Group) {
		r.ReplyMessage(group.CommitRefusal(q, kafka.ErrGroupAuthorizationFailed))
		return
	}
	resp := kmsg.NewPtrOffsetCommitResponse()
	a.splitCommit(r, q, resp)
	if len(q.Topics) == 0 {
		r.ReplyMessage(resp)
		return
	}
	by := caller(r)
	by.Ticket = collector(func(m kmsg.Response) {
		mergeCommit(resp, m.(*kmsg.OffsetCommitResponse))
		r.ReplyMessage(resp)
	})
	a.coordinate(q.Group, func(s *group.State, now int64) group.Output { return s.Commit(now, by, q) },
		func(code kafka.ErrorCode) { by.Ticket.Answer(group.CommitRefusal(q, code)) })
}

// splitCommit leaves in q what can be committed, with names, and answers the rest
// in resp.
func (a *API) splitCommit(r *wire.Request, q *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) {
	img := a.image()
	good := q.Topics[:0]
	for _, t := range q.Topics {
		topic, code := a.committable(r, img, q.Version >= 10, &t)
		if topic != nil {
			t.TopicID = topic.ID
		}
		answer := kmsg.OffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		partitions := t.Partitions[:0]
		for _, p := range t.Partitions {
			why := code
			if why == kafka.None && (p.Partition < 0 || int(p.Partition) >= len(topic.Partitions)) {
				why = kafka.ErrUnknownTopicOrPartition
			}
			if why == kafka.None {
				partitions = append(partitions, p)
				continue
			}
			answer.Partitions = append(answer.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(why)})
		}
		if len(answer.Partitions) > 0 {
			resp.Topics = append(resp.Topics, answer)
		}
		if t.Partitions = partitions; len(partitions) > 0 {
			good = append(good, t)
		}
	}
	q.Topics = good
}

// committable finds the topic that offsets are committed for, and fills in its
// name.
func (a *API) committable(r *wire.Request, img *meta.Image, byID bool, t *kmsg.OffsetCommitRequestTopic) (*meta.Topic, kafka.ErrorCode) {
	if byID {
		topic, ok := img.TopicByID(kafka.TopicID(t.TopicID))
		if !ok {
			return nil, kafka.ErrUnknownTopicID
		}
		t.Topic = topic.Name
	}
	if !a.authorize(r, OpRead, ResourceTopic, t.Topic) {
		return nil, kafka.ErrTopicAuthorizationFailed
	}
	topic, ok := img.Topic(t.Topic)
	if !ok {
		return nil, kafka.ErrUnknownTopicOrPartition
	}
	return topic, kafka.None
}

// mergeCommit adds the coordinator's answer to what was refused before.
func mergeCommit(resp, more *kmsg.OffsetCommitResponse) {
	type topic struct {
		name string
		id   kafka.TopicID
	}
	at := make(map[topic]int, len(resp.Topics))
	for i, t := range slices.Backward(resp.Topics) { // the first of equals
		at[topic{t.Topic, t.TopicID}] = i
	}
	for _, t := range more.Topics {
		if i, ok := at[topic{t.Topic, t.TopicID}]; ok {
			resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, t.Partitions...)
			continue
		}
		at[topic{t.Topic, t.TopicID}] = len(resp.Topics)
		resp.Topics = append(resp.Topics, t)
	}
}
