package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// CreatePartitions (key 37), versions 0–3.
//
// Behaviour: as CreateTopics: too many refuse the whole request, a name that is
// there twice is refused and not grown, everything else is decided topic by topic
// and in one command.

// createPartitions answers key 37.
func (a *API) createPartitions(r *wire.Request) {
	q := new(kmsg.CreatePartitionsRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	a.later(r, func(ctx context.Context) {
		ctx, stop := withTimeout(ctx, q.TimeoutMillis)
		defer stop()
		c := &createPartitionsCall{a: a, r: r, q: q, img: a.image(), resp: kmsg.NewPtrCreatePartitionsResponse()}
		c.run(ctx)
		r.ReplyMessage(c.resp)
	})
}

// createPartitionsCall is one request being answered.
type createPartitionsCall struct {
	a    *API
	r    *wire.Request
	q    *kmsg.CreatePartitionsRequest
	img  *meta.Image
	resp *kmsg.CreatePartitionsResponse
}

// run decides about all topics.
func (c *createPartitionsCall) run(ctx context.Context) {
	if ctx.Err() != nil {
		c.refuseAll(kafka.ErrRequestTimedOut.Err(""))
		return
	}
	topics := c.admitted()
	c.img = c.a.fresh(ctx, func(img *meta.Image) bool {
		return !slices.ContainsFunc(topics, func(t *kmsg.CreatePartitionsRequestTopic) bool {
			_, exists := img.Topic(t.Topic)
			return !exists
		})
	})
	if c.partitions(topics) > int64(c.a.broker(c.img).MaxPartitionsPerRequest) {
		c.resp.Topics = nil
		c.refuseAll(kafka.ErrPolicyViolation.Err("Excessively large number of additional partitions per request."))
		return
	}
	room := c.a.newRoom(c.img)
	var grown []meta.NewPartitions
	for _, t := range topics {
		n := meta.NewPartitions{Topic: t.Topic, Count: t.Count}
		if t.Assignment != nil {
			n.Assignment = make([][]kafka.BrokerID, len(t.Assignment))
			for i, p := range t.Assignment {
				n.Assignment[i] = brokerIDs(p.Replicas)
			}
		}
		why := c.img.CheckNewPartitions(&n)
		if why == nil {
			why = room.takeReplicas(c.replicas(&n))
		}
		if why != nil {
			c.answer(t.Topic, why)
			continue
		}
		grown = append(grown, n)
	}
	c.decide(ctx, grown)
}

// admitted are the topics that may be looked at; the others are answered here.
func (c *createPartitionsCall) admitted() []*kmsg.CreatePartitionsRequestTopic {
	var topics []*kmsg.CreatePartitionsRequestTopic
	count := map[string]int{}
	for i := range c.q.Topics {
		count[c.q.Topics[i].Topic]++
	}
	for i := range c.q.Topics {
		t := &c.q.Topics[i]
		switch n := count[t.Topic]; {
		case n == 0: // answered with its first occurrence
		case n > 1:
			count[t.Topic] = 0
			c.answer(t.Topic, kafka.ErrInvalidRequest.Err("Duplicate topic name."))
		case !c.a.authorize(c.r, OpAlter, ResourceTopic, t.Topic):
			c.answer(t.Topic, kafka.ErrTopicAuthorizationFailed.Err(""))
		default:
			topics = append(topics, t)
		}
	}
	return topics
}

// partitions is how many partitions the topics ask for on top of what they have.
func (c *createPartitionsCall) partitions(topics []*kmsg.CreatePartitionsRequestTopic) (total int64) {
	for _, t := range topics {
		more := int64(t.Count)
		if have, ok := c.img.Topic(t.Topic); ok {
			more -= int64(len(have.Partitions))
		}
		total += max(more, 0)
	}
	return total
}

// replicas is how many replicas a growth adds. The topic exists.
func (c *createPartitionsCall) replicas(n *meta.NewPartitions) int64 {
	t, _ := c.img.Topic(n.Topic)
	return (int64(n.Count) - int64(len(t.Partitions))) * int64(len(t.Partitions[0].Replicas))
}

// decide has the topics grown and answers for them.
func (c *createPartitionsCall) decide(ctx context.Context, grown []meta.NewPartitions) {
	if len(grown) == 0 {
		return
	}
	results, err := c.a.deps.Control.CreatePartitions(ctx, grown, c.q.ValidateOnly)
	for i := range grown {
		why := c.a.refusal(err)
		if err == nil {
			why = results[i]
		}
		c.answer(grown[i].Topic, why)
	}
}

// refuseAll answers every topic of the request with one error.
func (c *createPartitionsCall) refuseAll(why *kafka.Error) {
	for i := range c.q.Topics {
		c.answer(c.q.Topics[i].Topic, why)
	}
}

// answer answers for one topic; nil: it has grown.
func (c *createPartitionsCall) answer(name string, why *kafka.Error) {
	t := kmsg.NewCreatePartitionsResponseTopic()
	t.Topic, t.ErrorCode, t.ErrorMessage = name, c.a.code(c.r, why), ownText(why)
	c.resp.Topics = append(c.resp.Topics, t)
}
