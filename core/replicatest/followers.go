package replicatest

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/fetcher"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
)

// reconnect is how long a follower waits before it connects again.
const reconnect = 300 * time.Millisecond

// followers is what fetcher.Manager is in a broker: a session for each leader, without
// the connections.
type followers struct {
	p     *process
	log   *slog.Logger
	stats *fetcher.Stats
	links map[kafka.BrokerID]*link
	at    map[meta.PartitionID]kafka.BrokerID // whom a partition is fetched from
}

// link is a session and its connection.
type link struct {
	session    *fetcher.Session
	connection int       // counts up when one is lost
	rest       time.Time // not before this is it connected again
}

// frame is a request on its way.
type frame struct {
	connection int
	bytes      []byte
	fetch      *kmsg.FetchRequest // what the leader read of it; nil: not yet
}

func (f *followers) begin(p *process, log *slog.Logger, reg *metrics.Registry) {
	f.p, f.log, f.stats = p, log, fetcher.NewStats(reg)
	f.links, f.at = map[kafka.BrokerID]*link{}, map[meta.PartitionID]kafka.BrokerID{}
}

// Follow implements reconcile.Followers.
func (f *followers) Follow(h *partition.Partition, leader kafka.BrokerID, _ kafka.LeaderEpoch) {
	if was, ok := f.at[idOf(h)]; ok && was != leader {
		f.links[was].session.Unfollow(h)
	}
	l := f.links[leader]
	if l == nil {
		l = &link{session: fetcher.NewSession(fetcher.Options{
			Self: f.p.env.ID, Epoch: func() kafka.BrokerEpoch { return f.p.epoch }, Leader: leader, Name: "replica",
			Config: f.config, Log: f.log, Stats: f.stats,
		})}
		f.links[leader] = l
	}
	f.at[idOf(h)] = leader
	f.p.plantFollowed(h)
	l.session.Follow(h)
}

// config is how replicas fetch.
func (f *followers) config() config.Replication {
	return f.p.config.Broker(f.p.control.image, f.p.env.ID).Replication
}

// Unfollow implements reconcile.Followers.
func (f *followers) Unfollow(h *partition.Partition) {
	if leader, ok := f.at[idOf(h)]; ok {
		f.links[leader].session.Unfollow(h)
		delete(f.at, idOf(h))
	}
}

// Fetches implements Replicas.
func (p *process) Fetches() []Request {
	var out []Request
	now := p.env.Now()
	for _, leader := range slices.Sorted(maps.Keys(p.followers.links)) {
		l := p.followers.links[leader]
		if p.epoch == 0 || now.Before(l.rest) && l.rest.Sub(now) <= reconnect {
			continue
		}
		for b := l.session.Next(now); b != nil; b = l.session.Next(now) {
			out = append(out, Request{To: leader, Body: &frame{connection: l.connection, bytes: slices.Clone(b)}})
		}
	}
	return out
}

// Answered implements Replicas.
func (p *process) Answered(q Request, response any) {
	l, sent := p.followers.links[q.To], q.Body.(*frame)
	if sent.connection != l.connection {
		return // its connection is gone
	}
	answer, ok := response.([]byte)
	if ok && l.session.Handle(p.env.Now(), answer) == nil {
		return
	}
	l.session.Disconnected()
	l.connection++
	l.rest = p.env.Now().Add(reconnect)
}
