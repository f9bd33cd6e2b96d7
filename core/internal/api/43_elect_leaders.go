package api

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// ElectLeaders (key 43), versions 0–2.
//
// Behaviour: each partition by itself. A partition that its preferred replica leads
// needs no election, nor an unclean one that has any leader. Asked about all topics
// the answer names them, and of their partitions only those for which something was to
// be done. All elections of a request are one decision of the cluster.

// electLeaders answers key 43.
func (a *API) electLeaders(r *wire.Request) {
	q := new(kmsg.ElectLeadersRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	c := &electLeadersCall{a: a, r: r, q: q, img: a.image(), resp: kmsg.NewPtrElectLeadersResponse()}
	kind := meta.ElectionKind(q.ElectionType)
	switch {
	case !a.authorizeCluster(r, OpAlter):
		c.refuse(kafka.ErrClusterAuthorizationFailed.Err(""))
	case kind != meta.Preferred && kind != meta.Unclean:
		c.refuse(kafka.ErrInvalidRequest.Err(fmt.Sprintf("Unknown election type %d", q.ElectionType)))
	default:
		a.later(r, func(ctx context.Context) {
			ctx, stop := withTimeout(ctx, q.TimeoutMillis)
			defer stop()
			c.run(ctx, kind)
			r.ReplyMessage(c.resp)
		})
		return
	}
	r.ReplyMessage(c.resp)
}

// electLeadersCall is one request being answered.
type electLeadersCall struct {
	a    *API
	r    *wire.Request
	q    *kmsg.ElectLeadersRequest
	img  *meta.Image
	resp *kmsg.ElectLeadersResponse

	asked []meta.PartitionID // of the cluster
	slots []electionSlot     // where their answers go
}

// electionSlot is a place in the answer.
type electionSlot struct{ topic, partition int }

// refuse answers everything with one error.
func (c *electLeadersCall) refuse(why *kafka.Error) {
	c.resp.ErrorCode = c.a.code(c.r, why)
	c.resp.Topics = nil
	for i := range c.q.Topics {
		t := kmsg.NewElectLeadersResponseTopic()
		t.Topic = c.q.Topics[i].Topic
		for _, n := range c.q.Topics[i].Partitions {
			t.Partitions = append(t.Partitions, c.answer(n, why))
		}
		c.resp.Topics = append(c.resp.Topics, t)
	}
}

// answer is the answer about one partition.
func (c *electLeadersCall) answer(n int32, why *kafka.Error) kmsg.ElectLeadersResponseTopicPartition {
	p := kmsg.NewElectLeadersResponseTopicPartition()
	p.Partition, p.ErrorCode, p.ErrorMessage = n, c.a.code(c.r, why), fullText(why)
	return p
}

// run has the elections held.
func (c *electLeadersCall) run(ctx context.Context, kind meta.ElectionKind) {
	if c.q.Topics == nil {
		c.all(kind)
	} else {
		c.img = c.a.fresh(ctx, c.knowsNamed)
		c.named()
	}
	if len(c.asked) == 0 {
		return
	}
	results, err := c.a.deps.Control.ElectLeaders(ctx, kind, c.asked)
	if err != nil {
		c.refuse(c.a.refusal(err))
		return
	}
	for i, s := range c.slots {
		p := &c.resp.Topics[s.topic].Partitions[s.partition]
		*p = c.answer(p.Partition, results[i])
	}
	if c.q.Topics == nil {
		c.dropNotNeeded()
	}
}

// named asks for the partitions that the request names.
func (c *electLeadersCall) named() {
	for i := range c.q.Topics {
		name := c.q.Topics[i].Topic
		c.resp.Topics = append(c.resp.Topics, kmsg.ElectLeadersResponseTopic{Topic: name})
		for _, n := range c.q.Topics[i].Partitions {
			t, why := electable(c.img, name, n)
			if why == nil {
				c.ask(t, n)
				continue
			}
			out := &c.resp.Topics[i].Partitions
			*out = append(*out, c.answer(n, why))
		}
	}
}

// knowsNamed reports whether all partitions that the request names exist.
func (c *electLeadersCall) knowsNamed(img *meta.Image) bool {
	for i := range c.q.Topics {
		for _, n := range c.q.Topics[i].Partitions {
			if _, why := electable(img, c.q.Topics[i].Topic, n); why != nil {
				return false
			}
		}
	}
	return true
}

// electable is the topic of a partition, or why there is no such.
func electable(img *meta.Image, name string, n int32) (*meta.Topic, *kafka.Error) {
	t, exists := img.Topic(name)
	switch {
	case !exists:
		return nil, kafka.ErrUnknownTopicOrPartition.Err("No such topic as " + name)
	case n < 0 || int(n) >= len(t.Partitions):
		return nil, kafka.ErrUnknownTopicOrPartition.Err(fmt.Sprintf("No such partition as %s-%d", name, n))
	}
	return t, nil
}

// all asks for every partition that needs an election, as far as this broker knows.
func (c *electLeadersCall) all(kind meta.ElectionKind) {
	c.resp.Topics = make([]kmsg.ElectLeadersResponseTopic, 0, c.img.TopicCount())
	for t := range c.img.Topics() {
		c.resp.Topics = append(c.resp.Topics, kmsg.ElectLeadersResponseTopic{Topic: t.Name})
		for n := range t.Partitions {
			p := &t.Partitions[n]
			if kind == meta.Preferred && p.Leader != p.Replicas[0] || kind == meta.Unclean && p.Leader == kafka.NoBroker {
				c.ask(t, int32(n))
			}
		}
	}
}

// ask asks for one partition; its answer goes to the end of the last topic's.
func (c *electLeadersCall) ask(t *meta.Topic, n int32) {
	last := len(c.resp.Topics) - 1
	out := &c.resp.Topics[last].Partitions
	c.asked = append(c.asked, meta.PartitionID{Topic: t.ID, Partition: n})
	c.slots = append(c.slots, electionSlot{last, len(*out)})
	*out = append(*out, kmsg.ElectLeadersResponseTopicPartition{Partition: n})
}

// dropNotNeeded takes out what somebody else did in the meantime.
func (c *electLeadersCall) dropNotNeeded() {
	for i := range c.resp.Topics {
		out := &c.resp.Topics[i].Partitions
		kept := (*out)[:0]
		for _, p := range *out {
			if kafka.ErrorCode(p.ErrorCode) != kafka.ErrElectionNotNeeded {
				kept = append(kept, p)
			}
		}
		*out = kept
	}
}
