package telemetry

import (
	"container/list"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// InstancesMax bounds the client instances that are known, as in Kafka.
const InstancesMax = 16384

// silenceMin is how long an instance is known at least after its last request.
const silenceMin = time.Minute

// instance is what is known of a client instance.
type instance struct {
	id      InstanceID
	version uint64 // of the subscriptions that it was matched with
	wanted

	got, pushed time.Time // when it last asked and pushed at a time when it may
	terminating bool      // its last push said that it is going
	lastError   kafka.ErrorCode

	until time.Time // when it is forgotten unless it comes again
	place *list.Element
}

// interval is how long it is to wait between pushes.
func (i *instance) interval() time.Duration { return time.Duration(i.intervalMS) * time.Millisecond }

// lifetime is how long an instance that pushes so often is remembered.
func lifetime(interval time.Duration) time.Duration { return max(silenceMin, 3*interval) }

// mayGet says whether it may ask for its subscriptions, and notes that it did.
func (i *instance) mayGet(now time.Time) bool {
	last := i.got
	if i.pushed.After(last) {
		last = i.pushed
	}
	if !last.IsZero() && now.Sub(last) < i.interval() {
		return false
	}
	i.got = now
	return true
}

// mayPush says whether it may push, and notes that it did. After it asked it may at
// once: clients wait for half to one and a half intervals first.
func (i *instance) mayPush(now time.Time) bool {
	if !i.got.After(i.pushed) && !i.pushed.IsZero() && now.Sub(i.pushed) < i.interval() {
		return false
	}
	i.pushed = now
	return true
}

// cache holds instances, the last used first. It is not safe for concurrent use.
type cache struct {
	byID   map[InstanceID]*instance
	byConn map[uint64]InstanceID // the last one that was made for a connection
	order  list.List             // of *instance
}

func newCache() *cache {
	return &cache{byID: map[InstanceID]*instance{}, byConn: map[uint64]InstanceID{}}
}

// get finds an instance that is not forgotten.
func (c *cache) get(id InstanceID, now time.Time) *instance {
	i := c.byID[id]
	if i == nil {
		return nil
	}
	if !now.Before(i.until) {
		c.drop(i)
		return nil
	}
	c.order.MoveToFront(i.place)
	return i
}

// put takes an instance in, in the place of one with its id.
func (c *cache) put(i *instance, conn uint64) {
	if old := c.byID[i.id]; old != nil {
		c.drop(old)
	}
	if len(c.byID) >= InstancesMax {
		c.drop(c.order.Back().Value.(*instance))
	}
	i.place = c.order.PushFront(i)
	c.byID[i.id] = i
	c.byConn[conn] = i.id
}

func (c *cache) drop(i *instance) {
	c.order.Remove(i.place)
	delete(c.byID, i.id)
}

// gone forgets the instance that was made for a connection that has ended.
func (c *cache) gone(conn uint64) {
	id, known := c.byConn[conn]
	delete(c.byConn, conn)
	if i := c.byID[id]; known && i != nil {
		c.drop(i)
	}
}

// sweep forgets those that are silent for too long.
func (c *cache) sweep(now time.Time) {
	for _, i := range c.byID {
		if !now.Before(i.until) {
			c.drop(i)
		}
	}
}
