package api

import (
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

// A follower's Fetch. It needs CLUSTER_ACTION on the cluster, reads up to the log end,
// and says by its offset what it has: partition moves the high watermark by that. It
// waits for the log end, so that an append wakes it at once. Which replica it is, and
// of which start of its broker, is checked by the partition (KIP-903).

// follower is what a call knows of a follower that asks. The zero value is a consumer.
type follower struct {
	asks    bool
	allowed bool // it may read
	// tells is whether it hears of a new high watermark at once, because consumers may
	// wait there for it (KIP-392). Otherwise that goes along with the next records, or
	// with the next fetch.
	tells bool
}

// identify finds out whether a follower asks.
func (c *fetchCall) identify() {
	if c.req.ReplicaID < 0 {
		return
	}
	c.follower = follower{asks: true, allowed: c.a.authorizeCluster(c.r, OpClusterAction), tells: c.a.broker(c.a.image()).Replication.RackAware}
}

// readFollower reads one partition for a follower. A throttled one that is not in sync
// gets nothing while the throttle's bytes are used up (KIP-73).
func (c *fetchCall) readFollower(p *fetchPart, q *partition.Fetch, again bool) {
	q.Replica, q.ReplicaEpoch = c.req.ReplicaID, kafka.BrokerEpoch(c.req.ReplicaEpoch)
	q.LogStart, q.Again, q.Committed = p.want.LogStartOffset, again, false
	p.throttled = c.throttled(p.partition)
	if p.throttled && c.a.deps.LeaderThrottle.Owed() > 0 {
		q.MaxBytes, q.MinOne = 0, false
	}
	p.partition.ReplicaFetch(q, &p.found)
	if p.told != nil && p.found.Code == kafka.None && c.session.news(p, c.follower.tells) {
		c.failed = true
	}
}

// throttled reports whether the bytes of a partition are counted: its topic says so
// (leader.replication.throttled.replicas), and the follower is not in sync.
func (c *fetchCall) throttled(p *partition.Partition) bool {
	list := &p.Config().Topic.LeaderThrottled
	return c.a.deps.LeaderThrottle != nil && !list.None() && list.Has(p.TopicPartition().Partition, c.req.ReplicaID) && !p.ReplicaInSync(c.req.ReplicaID)
}

// news reports whether the follower of a session must hear of something that is not
// records: the log start, which a deletion of records waits for, or the high watermark.
func (s *fetchSession) news(p *fetchPart, highWatermark bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := p.told
	return t.toldStart != p.found.LogStart && t.toldStart != kafka.NoOffset ||
		highWatermark && t.toldHW != p.found.HighWatermark && t.toldHW != kafka.NoOffset
}
