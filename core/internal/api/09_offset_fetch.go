package api

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// OffsetFetch (key 9), versions 1–10.
//
// Behaviour: what is not committed is offset -1 without an error; null topics
// (version 2 on) are all that have offsets. Version 7's RequireStable finds nothing
// unstable, because there are no transactions yet. Version 8 asks for several
// groups, version 9 compares the epoch of a member of the consumer protocol (KIP-848),
// version 10 names topics by id. Version 1 has no error but in partitions.

// offsetFetch answers key 9.
func (a *API) offsetFetch(r *wire.Request) {
	var q kmsg.OffsetFetchRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	if q.Version < 8 {
		q.Groups = []kmsg.OffsetFetchRequestGroup{singleFetch(&q)}
	}
	c := &offsetFetchCall{a: a, r: r, img: a.image(), byID: q.Version >= 10, groups: make([]kmsg.OffsetFetchResponseGroup, len(q.Groups))}
	parts := newCountdown(len(q.Groups), func() { r.ReplyMessage(c.answer(&q)) })
	for i := range q.Groups {
		c.one(&q.Groups[i], func(g kmsg.OffsetFetchResponseGroup) {
			c.groups[i] = g
			parts.done()
		})
	}
	parts.done()
}

// singleFetch is the one group of older versions.
func singleFetch(q *kmsg.OffsetFetchRequest) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = q.Group
	for i := range q.Topics {
		g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: q.Topics[i].Topic, Partitions: q.Topics[i].Partitions})
	}
	if q.Topics != nil && g.Topics == nil {
		g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	return g
}

// offsetFetchCall is one request being answered.
type offsetFetchCall struct {
	a      *API
	r      *wire.Request
	img    *meta.Image
	byID   bool
	groups []kmsg.OffsetFetchResponseGroup
}

// one finds the offsets of one group.
func (c *offsetFetchCall) one(q *kmsg.OffsetFetchRequestGroup, done func(kmsg.OffsetFetchResponseGroup)) {
	fail := func(code kafka.ErrorCode) {
		g := kmsg.NewOffsetFetchResponseGroup()
		g.Group, g.ErrorCode = q.Group, int16(code)
		done(g)
	}
	if !c.a.authorize(c.r, OpDescribe, ResourceGroup, q.Group) {
		fail(kafka.ErrGroupAuthorizationFailed)
		return
	}
	named := c.named(q)
	may := func(string) bool { return true }
	if q.Topics == nil && c.a.deps.Authorizer != nil {
		may = c.mayDescribe(slices.Values(c.committed(q.Group)))
	}
	to := collector(func(m kmsg.Response) { done(m.(*kmsg.OffsetFetchResponse).Groups[0]) })
	c.a.coordinate(q.Group, func(s *group.State, _ int64) group.Output {
		g := kmsg.NewOffsetFetchResponseGroup()
		g.Group = q.Group
		if g.ErrorCode = int16(s.CheckFetch(q.Group, q.MemberID, q.MemberEpoch)); g.ErrorCode != 0 {
			return reading(to, &kmsg.OffsetFetchResponse{Groups: []kmsg.OffsetFetchResponseGroup{g}})
		}
		if q.Topics == nil {
			g.Topics = c.all(s.Offsets(q.Group), may)
		} else {
			g.Topics = c.asked(s, q, named)
		}
		return reading(to, &kmsg.OffsetFetchResponse{Groups: []kmsg.OffsetFetchResponseGroup{g}})
	}, fail)
}

// mayDescribe asks which topics the sender may be told of. It is asked before the group
// is looked at: who answers may be another process, and other groups would wait for it.
func (c *offsetFetchCall) mayDescribe(topics iter.Seq[string]) func(topic string) bool {
	return c.a.authorizeAll(c.r, OpDescribe, ResourceTopic, topics)
}

// committed are the topics that a group has offsets of. None if it can't be found out:
// then its offsets can't either.
func (c *offsetFetchCall) committed(id string) (topics []string) {
	c.a.coordinate(id, func(s *group.State, _ int64) group.Output {
		topics = slices.Collect(maps.Keys(s.Offsets(id)))
		return group.Output{}
	}, func(kafka.ErrorCode) {})
	return topics
}

// named is a topic of a request, or why it has no offsets.
type named struct {
	name string
	code kafka.ErrorCode
}

// named finds the topics that a request asks for.
func (c *offsetFetchCall) named(q *kmsg.OffsetFetchRequestGroup) []named {
	all := make([]named, len(q.Topics))
	for i := range all {
		all[i].name = q.Topics[i].Topic
		if c.byID {
			if topic, ok := c.img.TopicByID(kafka.TopicID(q.Topics[i].TopicID)); ok {
				all[i].name = topic.Name
			} else {
				all[i].code = kafka.ErrUnknownTopicID
			}
		}
	}
	may := c.mayDescribe(func(yield func(string) bool) {
		for i := range all {
			if all[i].code == kafka.None && !yield(all[i].name) {
				return
			}
		}
	})
	for i := range all {
		if all[i].code == kafka.None && !may(all[i].name) {
			all[i].code = kafka.ErrTopicAuthorizationFailed
		}
	}
	return all
}

// asked are the offsets of the topics in a request.
func (c *offsetFetchCall) asked(s *group.State, q *kmsg.OffsetFetchRequestGroup, topics []named) []kmsg.OffsetFetchResponseGroupTopic {
	out := make([]kmsg.OffsetFetchResponseGroupTopic, 0, len(q.Topics))
	for i := range q.Topics {
		t := &q.Topics[i]
		name, code := topics[i].name, topics[i].code
		answer := kmsg.OffsetFetchResponseGroupTopic{Topic: name, TopicID: t.TopicID}
		for _, n := range t.Partitions {
			p := offsetFetched(n, group.Offset{At: -1, LeaderEpoch: -1})
			if code == kafka.None {
				if o, ok := s.Fetch(q.Group, name, n); ok {
					p = offsetFetched(n, o)
				}
			}
			p.ErrorCode = int16(code)
			answer.Partitions = append(answer.Partitions, p)
		}
		out = append(out, answer)
	}
	return out
}

// all are all offsets of a group, by topic and partition, of topics that may be told.
func (c *offsetFetchCall) all(offsets map[string]map[int32]group.Offset, may func(topic string) bool) []kmsg.OffsetFetchResponseGroupTopic {
	out := []kmsg.OffsetFetchResponseGroupTopic{}
	for name, partitions := range offsets {
		if !may(name) {
			continue
		}
		answer := kmsg.OffsetFetchResponseGroupTopic{Topic: name}
		if c.byID {
			topic, ok := c.img.Topic(name)
			if !ok {
				continue
			}
			answer.TopicID = topic.ID
		}
		for n, o := range partitions {
			answer.Partitions = append(answer.Partitions, offsetFetched(n, o))
		}
		slices.SortFunc(answer.Partitions, func(x, y kmsg.OffsetFetchResponseGroupTopicPartition) int {
			return cmp.Compare(x.Partition, y.Partition)
		})
		out = append(out, answer)
	}
	slices.SortFunc(out, func(x, y kmsg.OffsetFetchResponseGroupTopic) int { return cmp.Compare(x.Topic, y.Topic) })
	return out
}

// offsetFetched is one partition's offset.
func offsetFetched(partition int32, o group.Offset) kmsg.OffsetFetchResponseGroupTopicPartition {
	return kmsg.OffsetFetchResponseGroupTopicPartition{Partition: partition, Offset: o.At, LeaderEpoch: o.LeaderEpoch, Metadata: kmsg.StringPtr(o.Metadata)}
}

// answer is the answer in the request's version.
func (c *offsetFetchCall) answer(q *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	resp := kmsg.NewPtrOffsetFetchResponse()
	if q.Version >= 8 {
		resp.Groups = c.groups
		return resp
	}
	g := &c.groups[0]
	resp.ErrorCode = g.ErrorCode
	if g.ErrorCode != 0 && q.Version < 2 {
		g.Topics = refusedFetch(q, g.ErrorCode)
	}
	for i := range g.Topics {
		t := kmsg.OffsetFetchResponseTopic{Topic: g.Topics[i].Topic}
		for _, p := range g.Topics[i].Partitions {
			t.Partitions = append(t.Partitions, kmsg.OffsetFetchResponseTopicPartition{Partition: p.Partition, Offset: p.Offset,
				LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode})
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// refusedFetch puts an error into every partition.
func refusedFetch(q *kmsg.OffsetFetchRequest, code int16) (out []kmsg.OffsetFetchResponseGroupTopic) {
	for i := range q.Topics {
		t := kmsg.OffsetFetchResponseGroupTopic{Topic: q.Topics[i].Topic}
		for _, n := range q.Topics[i].Partitions {
			p := offsetFetched(n, group.Offset{At: -1, LeaderEpoch: -1})
			p.ErrorCode = code
			t.Partitions = append(t.Partitions, p)
		}
		out = append(out, t)
	}
	return out
}
