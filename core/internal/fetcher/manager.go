package fetcher

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/vnet"
)

// ManagerOptions are the parts of a Manager. All are needed unless they say otherwise.
type ManagerOptions struct {
	Self kafka.BrokerID
	Net  vnet.Network
	// Address is where a leader takes replication; false: nowhere now.
	Address func(leader kafka.BrokerID) (address string, ok bool)
	// Credential is what this broker logs in with; an empty user: it does not.
	Credential func() (user, password string)
	Config     func() config.Replication // of this moment
	// RequestMaxBytes bounds one batch (socket.request.max.bytes).
	RequestMaxBytes func() int
	Quota           Quota // nil: nothing is throttled
	Clock           clock.Clock
	Log             *slog.Logger
	Metrics         *metrics.Registry
}

// Manager follows the leaders of this broker's partitions: one link for each leader
// and shard. It is safe for concurrent use.
type Manager struct {
	o       ManagerOptions
	stats   *Stats
	epoch   atomic.Int64 // of this broker's registration
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	started bool              // guarded by mu
	shards  int               // of each leader; guarded by mu
	links   map[place]*link   // guarded by mu
	where   map[key]following // guarded by mu
}

// place names a link.
type place struct {
	leader kafka.BrokerID
	shard  int
}

// following is a partition that is followed, and by which link.
type following struct {
	replica Replica
	at      place
}

// NewManager makes a manager that fetches nothing before Start.
func NewManager(o ManagerOptions) *Manager {
	m := &Manager{o: o, stats: NewStats(o.Metrics), shards: o.Config().Fetchers, links: map[place]*link{}, where: map[key]following{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// Start begins to fetch, as the broker of this registration.
func (m *Manager) Start(epoch kafka.BrokerEpoch) {
	m.epoch.Store(int64(epoch))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = true
	for _, l := range m.links {
		m.running.Go(l.run)
	}
}

// SetEpoch says that this broker was registered anew.
func (m *Manager) SetEpoch(epoch kafka.BrokerEpoch) { m.epoch.Store(int64(epoch)) }

// Follow fetches a partition from a leader, and begins anew when it does already: call
// it for each new leader epoch. It never waits.
func (m *Manager) Follow(p *partition.Partition, leader kafka.BrokerID, _ kafka.LeaderEpoch) {
	m.follow(p, leader)
}

// Unfollow fetches a partition no longer. It never waits: what is under way may still
// reach the partition, which refuses what is of another role.
func (m *Manager) Unfollow(p *partition.Partition) { m.unfollow(p) }

func (m *Manager) follow(r Replica, leader kafka.BrokerID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := key{r.TopicID(), r.TopicPartition().Partition}
	m.put(k, following{r, place{leader, shard(k, m.shards)}})
}

// put moves a partition to a link. Caller holds mu.
func (m *Manager) put(k key, f following) {
	if old, ok := m.where[k]; ok && old.at != f.at {
		m.links[old.at].post(letter{replica: old.replica})
	}
	l := m.links[f.at]
	if l == nil {
		if m.ctx.Err() != nil {
			return
		}
		l = newLink(m, f.at)
		m.links[f.at] = l
		if m.started {
			m.running.Go(l.run)
		}
	}
	m.where[k] = f
	l.post(letter{replica: f.replica, follow: true})
}

func (m *Manager) unfollow(r Replica) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := key{r.TopicID(), r.TopicPartition().Partition}
	if old, ok := m.where[k]; ok {
		delete(m.where, k)
		m.links[old.at].post(letter{replica: old.replica})
	}
}

// Resize spreads the partitions over as many links of each leader as the config has
// now (num.replica.fetchers).
func (m *Manager) Resize() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shards == m.o.Config().Fetchers {
		return
	}
	m.shards = m.o.Config().Fetchers
	for k, f := range m.where {
		if to := (place{f.at.leader, shard(k, m.shards)}); to != f.at {
			m.put(k, following{f.replica, to})
		}
	}
}

// Close ends all fetching and waits for it.
func (m *Manager) Close() {
	m.mu.Lock()
	m.cancel()
	for _, l := range m.links {
		l.stop()
	}
	m.mu.Unlock()
	m.running.Wait()
}

// shard spreads partitions over n links.
func shard(k key, n int) int {
	return int((binary.BigEndian.Uint32(k.topic[:]) + uint32(k.partition)) % uint32(max(n, 1)))
}

// clientID is how a link calls itself, as in Kafka.
func (m *Manager) clientID(p place) string {
	return fmt.Sprintf("broker-%d-fetcher-%d", m.o.Self, p.shard)
}

var _ Replica = (*partition.Partition)(nil)
