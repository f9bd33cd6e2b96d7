package api

import (
	"bytes"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// fetchPart is one partition that is fetched.
type fetchPart struct {
	name []byte
	id   kafka.TopicID
	want wire.FetchRange
	told *sessionPartition // nil: no session

	partition *partition.Partition
	code      kafka.ErrorCode
	seen      int64
	found     partition.Fetched
	empty     bool           // there was nothing in the partition for this request
	nearest   kafka.BrokerID // where the consumer should read instead; NoBroker: here
	throttled bool           // what the follower gets is counted
	settled   bool           // a follower in sync has all there is: until it moves nobody need look
	looks     int            // sessionPartition.looks when it was taken
}

// sameTopic reports whether two parts are of one topic.
func (p *fetchPart) sameTopic(o *fetchPart) bool { return p.id == o.id && bytes.Equal(p.name, o.name) }

// readOne reads one partition.
func (c *fetchCall) readOne(p *fetchPart, left int, minOne, again bool) {
	if again && c.quiet(p) {
		return
	}
	p.nearest, p.empty, p.settled = kafka.NoBroker, false, false
	p.partition, p.code = c.find(p) // also again: one may have been deleted meanwhile
	if p.code != kafka.None {
		p.found = refusedPart(p.code)
		return
	}
	c.attend(p)
	p.seen = c.waiters(p).Progress()
	q := partition.Fetch{
		From:      p.want.FetchOffset,
		Epoch:     max(p.want.CurrentLeaderEpoch, kafka.NoLeaderEpoch), // any negative one is none here
		LastEpoch: p.want.LastFetchedEpoch,
		MaxBytes:  min(int(max(p.want.MaxBytes, 0)), left), MinOne: minOne, Committed: c.req.IsolationLevel == 1,
	}
	if c.follower.asks {
		c.readFollower(p, &q, again)
		p.empty = p.found.Range == nil && !p.throttled
		p.settled = p.empty && c.standing() && c.hasAll(p)
		return
	}
	q.Anywhere = c.r.Version >= 11 // older clients would not know a follower's errors
	if q.Anywhere && c.req.Rack != nil {
		p.nearest = c.nearest(p)
	}
	if p.nearest != kafka.NoBroker {
		q.MaxBytes, q.MinOne = 0, false // what it asks for is elsewhere
	}
	p.partition.Fetch(&q, &p.found)
	if p.found.Code != kafka.None {
		p.nearest = kafka.NoBroker
	}
	p.empty = p.found.Range == nil && p.nearest == kafka.NoBroker
}

// quiet reports whether a partition that had nothing for a request that waited is as it
// was: nothing was appended or became visible, and nobody nudged who waits for it. Of
// what was found only the high watermark may be another, for a follower.
func (c *fetchCall) quiet(p *fetchPart) bool {
	if !p.empty || p.found.Code != kafka.None || p.found.DivergingEpoch != kafka.NoLeaderEpoch || c.waiters(p).Progress() != p.seen {
		return false
	}
	p.found.HighWatermark = p.partition.HighWatermark()
	return true
}

// waiters is where a call waits for a partition: a follower for the log end, anybody
// else for what is committed.
func (c *fetchCall) waiters(p *fetchPart) *purgatory.List {
	if c.follower.asks {
		return p.partition.ReplicaWaiters()
	}
	return p.partition.Waiters()
}

// refusedPart is the answer about a partition that can't be read.
func refusedPart(code kafka.ErrorCode) partition.Fetched {
	return partition.Fetched{
		Code: code, HighWatermark: kafka.NoOffset, LastStable: kafka.NoOffset, LogStart: kafka.NoOffset,
		DivergingEpoch: kafka.NoLeaderEpoch,
	}
}

// find looks a part's partition up.
func (c *fetchCall) find(p *fetchPart) (*partition.Partition, kafka.ErrorCode) {
	found, code := c.a.lookup(c.r.Version >= 13, p.name, p.id, p.want.Index)
	switch {
	case c.follower.asks && !c.follower.allowed:
		return nil, kafka.ErrTopicAuthorizationFailed
	case c.follower.asks:
		return found, code
	case code != kafka.None && c.a.hides(c.r, OpRead, c.r.Version >= 13, p.name, p.id):
		return nil, kafka.ErrTopicAuthorizationFailed
	case code != kafka.None:
		return nil, code
	case !c.a.authorize(c.r, OpRead, ResourceTopic, found.TopicPartition().Topic):
		return nil, kafka.ErrTopicAuthorizationFailed
	}
	return found, kafka.None
}
