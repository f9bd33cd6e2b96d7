package api

import (
	"iter"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// DescribeTopicPartitions (key 75), version 0.
//
// Behaviour: the partitions of the named topics, or of all, in the order of names,
// a page at a time. A page has as many partitions as the client wants, at most
// max.request.partition.size.limit and at least one; NextCursor says where the next
// one begins. A cursor must point into the named topics. A partition without a leader
// is no error here, other than in Metadata; replicas that could lead again without a
// loss are listed beside the ISR (KIP-966).

// describeTopicPartitions answers key 75.
func (a *API) describeTopicPartitions(r *wire.Request) {
	q := kmsg.NewDescribeTopicPartitionsRequest()
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	if badCursor(&q) {
		for i := range q.Topics {
			t := kmsg.NewDescribeTopicPartitionsResponseTopic()
			t.ErrorCode, t.Topic = int16(kafka.ErrInvalidRequest), &q.Topics[i].Topic
			resp.Topics = append(resp.Topics, t)
		}
		r.ReplyMessage(resp)
		return
	}
	c := &describePartitionsCall{a: a, r: r, q: &q, resp: resp, img: a.image()}
	c.view = newViewer(c.img, r.Conn.Listener)
	c.page(max(min(int(q.ResponsePartitionLimit), a.broker(c.img).MaxPartitionsDescribed), 1))
	r.ReplyMessage(resp)
}

// badCursor reports a cursor that points outside of the named topics.
func badCursor(q *kmsg.DescribeTopicPartitionsRequest) bool {
	if q.Cursor == nil {
		return false
	}
	named := len(q.Topics) == 0 || slices.ContainsFunc(q.Topics, func(t kmsg.DescribeTopicPartitionsRequestTopic) bool {
		return t.Topic == q.Cursor.Topic
	})
	return !named || q.Cursor.Partition < 0
}

// describePartitionsCall is one request being answered.
type describePartitionsCall struct {
	a    *API
	r    *wire.Request
	q    *kmsg.DescribeTopicPartitionsRequest
	resp *kmsg.DescribeTopicPartitionsResponse
	img  *meta.Image
	view *viewer
}

// page fills in so many partitions.
func (c *describePartitionsCall) page(left int) {
	var denied []kmsg.DescribeTopicPartitionsResponseTopic
	seen := c.a.authorizeAll(c.r, OpDescribe, ResourceTopic, c.names())
	for name := range c.names() {
		if !seen(name) {
			if len(c.q.Topics) > 0 {
				denied = append(denied, topicError(name, kafka.ErrTopicAuthorizationFailed))
			}
			continue
		}
		if left == 0 {
			c.next(name, 0)
			break
		}
		first := int32(0)
		if c.q.Cursor != nil && c.q.Cursor.Topic == name {
			first = c.q.Cursor.Partition
		}
		n, more := c.add(name, first, left)
		left -= n
		if more {
			c.next(name, first+int32(n))
			break
		}
	}
	c.resp.Topics = append(c.resp.Topics, denied...)
}

// names are the topics from the cursor on, each once, in order.
func (c *describePartitionsCall) names() iter.Seq[string] {
	from := ""
	if c.q.Cursor != nil {
		from = c.q.Cursor.Topic
	}
	if len(c.q.Topics) == 0 {
		return func(yield func(string) bool) {
			for t := range c.img.TopicsFrom(from) {
				if !yield(t.Name) {
					return
				}
			}
		}
	}
	var names []string
	for i := range c.q.Topics {
		if c.q.Topics[i].Topic >= from {
			names = append(names, c.q.Topics[i].Topic)
		}
	}
	slices.Sort(names)
	return slices.Values(slices.Compact(names))
}

// next says where the next page begins.
func (c *describePartitionsCall) next(topic string, partition int32) {
	c.resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: topic, Partition: partition}
}

// topicError is a topic that is only an error.
func topicError(name string, code kafka.ErrorCode) kmsg.DescribeTopicPartitionsResponseTopic {
	t := kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.ErrorCode, t.Topic, t.IsInternal = int16(code), &name, isInternalTopic(name)
	return t
}

// add adds at most left partitions of a topic, and returns how many it added and
// whether there are more.
func (c *describePartitionsCall) add(name string, first int32, left int) (added int, more bool) {
	topic, exists := c.img.Topic(name)
	if !exists {
		t := topicError(name, kafka.ErrUnknownTopicOrPartition)
		if badTopicName(name) != "" {
			t.ErrorCode = int16(kafka.ErrInvalidTopic)
		}
		c.operations(&t)
		c.resp.Topics = append(c.resp.Topics, t)
		return 0, false
	}
	t := topicError(name, kafka.None)
	t.TopicID = topic.ID
	c.operations(&t)
	from := min(int(first), len(topic.Partitions))
	upTo := min(from+left, len(topic.Partitions))
	for n := from; n < upTo; n++ {
		t.Partitions = append(t.Partitions, c.partition(int32(n), &topic.Partitions[n]))
	}
	c.resp.Topics = append(c.resp.Topics, t)
	return upTo - from, upTo < len(topic.Partitions)
}

// partition shows one partition.
func (c *describePartitionsCall) partition(number int32, p *meta.Partition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	seen := c.view.look(p)
	out := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	out.Partition, out.LeaderID, out.LeaderEpoch = number, int32(seen.leader), int32(p.LeaderEpoch)
	out.Replicas, out.ISR, out.OfflineReplicas = seen.replicas, seen.isr, seen.offline
	out.EligibleLeaderReplicas, out.LastKnownELR = ids(p.ELR), []int32{}
	if p.LastKnownLeader != kafka.NoBroker {
		out.LastKnownELR = []int32{int32(p.LastKnownLeader)}
	}
	return out
}

// operations fills in what the client may do to a topic. A topic without a name is
// nothing that anybody could do something to.
func (c *describePartitionsCall) operations(t *kmsg.DescribeTopicPartitionsResponseTopic) {
	if *t.Topic != "" {
		t.AuthorizedOperations = c.a.allowedOperations(c.r, ResourceTopic, *t.Topic)
	}
}
