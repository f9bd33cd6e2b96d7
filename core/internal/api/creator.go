package api

import (
	"context"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/internal/coordinator"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Bounds of topics that are made on demand.
const (
	onDemandWaiting = 1000             // names that wait to be made
	onDemandTimeout = 30 * time.Second // for the cluster to make them
	onDemandPause   = 10 * time.Second // before a name that was refused is tried again
	brokersPause    = time.Second      // the same where brokers are missing, which come by themselves
)

// onDemandLane is the background lane of topics made on demand: no connection has
// this id.
const onDemandLane = ^uint64(0)

// topicCreator makes topics that clients ask for, outside of their requests: each
// name once, however many clients ask, and all that came together in one command.
//
// Lock order: mu before background.mu.
type topicCreator struct {
	a *API

	mu       sync.Mutex
	pending  map[string]bool // asked for and not decided; guarded by mu
	waiting  []string        // of these, not yet handed to the cluster; guarded by mu
	draining bool            // work that takes waiting is submitted; guarded by mu

	refused map[string]time.Time // when a name may be tried again; guarded by mu
}

func newTopicCreator(a *API) *topicCreator {
	return &topicCreator{a: a, pending: map[string]bool{}, refused: map[string]time.Time{}}
}

// ask has a topic made with the broker's defaults. Names that are asked for
// already, those beyond the bound, and those that were refused a moment ago are
// dropped: their clients ask again.
func (c *topicCreator) ask(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[name] || len(c.pending) >= onDemandWaiting || c.pausing(name) {
		return
	}
	c.pending[name] = true
	c.waiting = append(c.waiting, name)
	if c.draining {
		return
	}
	if c.draining = c.a.background.submit(onDemandLane, c.drain); !c.draining {
		c.drop(name)
		c.waiting = c.waiting[:len(c.waiting)-1]
	}
}

// pausing reports whether a name was refused a moment ago. Caller holds mu.
func (c *topicCreator) pausing(name string) bool {
	again, refused := c.refused[name]
	if refused && c.a.deps.Clock.Now().Before(again) {
		return true
	}
	delete(c.refused, name)
	return false
}

// refuse logs why a name is not made, and keeps a client that asks on and on from
// the cluster and the log.
func (c *topicCreator) refuse(name string, why *kafka.Error) {
	c.a.deps.Log.Warn("topic not made on demand", "topic", name, "error", why)
	pause := onDemandPause
	if why.Code == kafka.ErrInvalidReplicationFactor {
		pause = brokersPause
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.refused) >= onDemandWaiting {
		clear(c.refused)
	}
	c.refused[name] = c.a.deps.Clock.Now().Add(pause)
}

// drop forgets a name. Caller holds mu.
func (c *topicCreator) drop(name string) { delete(c.pending, name) }

// drain makes all topics that wait.
func (c *topicCreator) drain(ctx context.Context) {
	c.mu.Lock()
	names := c.waiting
	c.waiting, c.draining = nil, false
	c.mu.Unlock()

	ctx, stop := context.WithTimeout(ctx, onDemandTimeout)
	defer stop()
	c.create(ctx, names)

	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		c.drop(name)
	}
}

// create asks the cluster. Nobody waits for the results; a refusal is logged,
// because the client only sees that the topic stays unknown.
func (c *topicCreator) create(ctx context.Context, names []string) {
	img := c.a.image()
	b := c.a.broker(img)
	seen, room := collisions{img: img}, c.a.newRoom(img)
	var topics []meta.NewTopic
	for _, name := range names {
		t := meta.NewTopic{Name: name, PartitionCount: b.NumPartitions, ReplicationFactor: b.DefaultReplicationFactor}
		if name == coordinator.Topic {
			t = c.a.offsetsTopic(img)
		}
		why := room.take(&t)
		if other := seen.find(name); why == nil && other != "" {
			why = kafka.ErrInvalidTopic.Err(collisionText(name, other))
		}
		if why != nil {
			c.refuse(name, why)
			continue
		}
		topics = append(topics, t)
	}
	if len(topics) == 0 {
		return
	}
	results, err := c.a.deps.Control.CreateTopics(ctx, topics, false)
	if err != nil {
		c.a.deps.Log.Warn("topics not made on demand", "topics", len(topics), "error", err)
		return
	}
	for i, result := range results {
		if result.Err != nil && result.Err.Code != kafka.ErrTopicAlreadyExists {
			c.refuse(topics[i].Name, result.Err)
		}
	}
}
