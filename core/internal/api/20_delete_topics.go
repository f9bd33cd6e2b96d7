package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// DeleteTopics (key 20), versions 1–6.
//
// Behaviour: by name, from version 6 on by name or id but not both; what is there
// twice is refused and not deleted. A client that may not know a topic is not told
// whether it exists.

// deleteTopics answers key 20.
func (a *API) deleteTopics(r *wire.Request) {
	q := new(kmsg.DeleteTopicsRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	a.later(r, func(ctx context.Context) {
		ctx, stop := withTimeout(ctx, q.TimeoutMillis)
		defer stop()
		c := &deleteTopicsCall{a: a, r: r, q: q, img: a.image(), resp: kmsg.NewPtrDeleteTopicsResponse()}
		c.run(ctx)
		r.ReplyMessage(c.resp)
	})
}

// deleteTopicsCall is one request being answered.
type deleteTopicsCall struct {
	a    *API
	r    *wire.Request
	q    *kmsg.DeleteTopicsRequest
	img  *meta.Image
	resp *kmsg.DeleteTopicsResponse

	doomed []*meta.Topic
}

// run decides about all topics.
func (c *deleteTopicsCall) run(ctx context.Context) {
	names, topicIDs := c.asked()
	refused := c.refuseAll(ctx)
	if refused != nil {
		c.resp.Topics = nil
		for _, name := range names {
			c.answer(&name, kafka.NoTopicID, refused)
		}
		for _, id := range topicIDs {
			c.answer(nil, id, refused)
		}
		return
	}
	c.img = c.a.fresh(ctx, func(img *meta.Image) bool { return knowsTopics(img, names, topicIDs) })
	given := map[kafka.TopicID]bool{}
	for _, id := range topicIDs {
		if t := c.findID(id); t != nil {
			given[id] = true
			c.doomed = append(c.doomed, t)
		}
	}
	for _, name := range names {
		c.addName(name, given)
	}
	c.decide(ctx)
}

// refuseAll finds what is wrong with the request as a whole.
func (c *deleteTopicsCall) refuseAll(ctx context.Context) *kafka.Error {
	switch enabled := c.a.broker(c.img).DeleteTopicEnable; {
	case !enabled && c.q.Version < 3:
		return kafka.ErrInvalidRequest.Err("Topic deletion is disabled.")
	case !enabled:
		return kafka.ErrTopicDeletionDisabled.Err("Topic deletion is disabled.")
	case ctx.Err() != nil:
		return kafka.ErrRequestTimedOut.Err("")
	}
	return nil
}

// asked are the names and ids that are there once; what is wrong with the others
// is answered here.
func (c *deleteTopicsCall) asked() (names []string, topicIDs []kafka.TopicID) {
	names = append(names, c.q.TopicNames...)
	for i := range c.q.Topics {
		t := &c.q.Topics[i]
		switch named, identified := t.Topic != nil, t.TopicID != kafka.NoTopicID; {
		case named && identified:
			c.answer(t.Topic, t.TopicID, kafka.ErrInvalidRequest.Err("You may not specify both topic name and topic id."))
		case named:
			names = append(names, *t.Topic)
		case identified:
			topicIDs = append(topicIDs, t.TopicID)
		default:
			c.answer(nil, kafka.NoTopicID, kafka.ErrInvalidRequest.Err("Neither topic name nor id were specified."))
		}
	}
	names = once(names, func(name string) {
		c.answer(&name, kafka.NoTopicID, kafka.ErrInvalidRequest.Err("Duplicate topic name."))
	})
	topicIDs = once(topicIDs, func(id kafka.TopicID) {
		c.answer(nil, id, kafka.ErrInvalidRequest.Err("Duplicate topic id."))
	})
	return names, topicIDs
}

// knowsTopics reports whether there is a topic for each name and id.
func knowsTopics(img *meta.Image, names []string, topicIDs []kafka.TopicID) bool {
	for _, name := range names {
		if _, ok := img.Topic(name); !ok {
			return false
		}
	}
	for _, id := range topicIDs {
		if _, ok := img.TopicByID(id); !ok {
			return false
		}
	}
	return true
}

// once are the elements that occur once, in order. repeated is called once for
// each of the others.
func once[T comparable](all []T, repeated func(T)) (out []T) {
	count := make(map[T]int, len(all))
	for _, e := range all {
		count[e]++
	}
	for _, e := range all {
		switch n := count[e]; {
		case n == 1:
			out = append(out, e)
		case n > 1:
			repeated(e)
			count[e] = 0
		}
	}
	return out
}

// findID finds the topic of an id if the client may delete it; nil: it was
// answered.
func (c *deleteTopicsCall) findID(id kafka.TopicID) *meta.Topic {
	t, ok := c.img.TopicByID(id)
	switch {
	case !ok:
		c.answer(nil, id, kafka.ErrUnknownTopicID.Err(""))
	case !c.a.authorize(c.r, OpDescribe, ResourceTopic, t.Name):
		c.answer(nil, id, kafka.ErrTopicAuthorizationFailed.Err(""))
	case !c.a.authorize(c.r, OpDelete, ResourceTopic, t.Name):
		c.answer(&t.Name, id, kafka.ErrTopicAuthorizationFailed.Err(""))
	default:
		return t
	}
	return nil
}

// addName dooms the topic of a name, unless its id was given, too.
func (c *deleteTopicsCall) addName(name string, given map[kafka.TopicID]bool) {
	t, ok := c.img.Topic(name)
	switch {
	case !c.a.authorize(c.r, OpDescribe, ResourceTopic, name):
		c.answer(&name, kafka.NoTopicID, kafka.ErrTopicAuthorizationFailed.Err(""))
	case !ok:
		c.answer(&name, kafka.NoTopicID, kafka.ErrUnknownTopicOrPartition.Err(""))
	case !c.a.authorize(c.r, OpDelete, ResourceTopic, name):
		c.answer(&name, kafka.NoTopicID, kafka.ErrTopicAuthorizationFailed.Err(""))
	case given[t.ID]:
		c.spare(t.ID)
		c.answer(&name, t.ID, kafka.ErrInvalidRequest.Err("The provided topic name maps to an ID that was already supplied."))
	default:
		c.doomed = append(c.doomed, t)
	}
}

// spare takes a topic off the list of those to delete.
func (c *deleteTopicsCall) spare(id kafka.TopicID) {
	for i, t := range c.doomed {
		if t.ID == id {
			c.doomed = append(c.doomed[:i], c.doomed[i+1:]...)
			return
		}
	}
}

// decide has the doomed topics deleted and answers for them.
func (c *deleteTopicsCall) decide(ctx context.Context) {
	if len(c.doomed) == 0 {
		return
	}
	doomed := make([]kafka.TopicID, len(c.doomed))
	for i, t := range c.doomed {
		doomed[i] = t.ID
	}
	results, err := c.a.deps.Control.DeleteTopics(ctx, doomed)
	for i, t := range c.doomed {
		why := c.a.refusal(err)
		if err == nil {
			why = results[i]
		}
		c.answer(&t.Name, t.ID, why)
	}
}

// answer answers for one topic; nil: it is gone.
func (c *deleteTopicsCall) answer(name *string, id kafka.TopicID, why *kafka.Error) {
	t := kmsg.NewDeleteTopicsResponseTopic()
	t.Topic, t.TopicID, t.ErrorCode, t.ErrorMessage = name, id, c.a.code(c.r, why), fullText(why)
	c.resp.Topics = append(c.resp.Topics, t)
}
