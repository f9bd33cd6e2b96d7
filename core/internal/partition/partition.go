package partition

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/isr"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
)

// Parts are what the partitions of a broker share. It must not be copied.
type Parts struct {
	Clock     clock.Clock
	Purgatory *purgatory.Purgatory
	Log       *slog.Logger
	Metrics   *metrics.Registry

	// Lag is replica.lag.time.max.ms; nil: Kafka's default.
	Lag func() time.Duration
	// Eligible says whether a broker may be in sync: registered with this epoch, not
	// fenced, not shutting down. nil: any.
	Eligible func(id kafka.BrokerID, epoch kafka.BrokerEpoch) bool
	// ProposeISR asks the cluster for other in-sync replicas, and has ISRAnswered called
	// once, later. It is called without a lock, and must not wait. nil: the ISR stays.
	ProposeISR func(p *Partition, c *meta.ISRChange)
	// TellFollowers says whether followers that wait are woken for a new high watermark,
	// because consumers may read from them (KIP-392); nil: never.
	TellFollowers func() bool

	timeouts timeouts
	stopping atomic.Bool // nobody waits for replicas any more
	cutOff   atomic.Bool // see CutOff
}

// lagDefault is Kafka's default of replica.lag.time.max.ms.
const lagDefault = 30 * time.Second

// rules are what decides about in-sync replicas of a topic at this moment.
func (p *Parts) rules(c *Config) isr.Rules {
	r := isr.Rules{MinISR: c.Topic.MinInsyncReplicas, Lag: lagDefault, Eligible: p.Eligible}
	if p.Lag != nil {
		r.Lag = p.Lag()
	}
	if r.Eligible == nil {
		r.Eligible = anybody
	}
	return r
}

// anybody may be in sync.
func anybody(kafka.BrokerID, kafka.BrokerEpoch) bool { return true }

// Partition is one partition on this broker. It is safe for concurrent use.
type Partition struct {
	tp        kafka.TopicPartition
	topicID   kafka.TopicID
	parts     *Parts
	purgatory *purgatory.Purgatory
	home      atomic.Pointer[home] // never nil
	leaving   atomic.Pointer[home] // where it was, while that is not removed; nil: nowhere

	role   atomic.Pointer[Role] // never nil
	config atomic.Pointer[Config]
	broken atomic.Pointer[error]
	hw     atomic.Int64

	waiters        purgatory.List // for bytes below the high watermark
	replicaWaiters purgatory.List // followers: for bytes below the log end
	waiting        atomic.Int32   // len(awaits)

	ctl sync.Mutex // one change of role, truncation or move at a time

	mu        sync.Mutex   // orders appends, role changes, the high watermark and moves
	silent    bool         // GiveUp gave up, and the high watermark has not moved since; guarded by mu
	unseen    int64        // bytes between the high watermark and the log end since the role began; guarded by mu
	asked     kafka.Offset // end of what a flush was asked for; guarded by mu
	gone      bool         // closed or deleted: it does not move any more; guarded by mu
	followers *isr.State   // of a leader with followers; guarded by mu
	resting   time.Time    // before it nobody is asked to join the in-sync replicas; guarded by mu
	awaits    []await      // by what they wait for; guarded by mu
	due       time.Time    // when an await ends at the latest; zero: none has a limit; guarded by mu
}

// New makes the partition of an open log, without a role. highWatermark is the
// checkpointed one, NoOffset when unknown.
func New(parts *Parts, tp kafka.TopicPartition, id kafka.TopicID, dir *logdir.Dir, log *commitlog.Log, c *Config, highWatermark kafka.Offset) *Partition {
	p := &Partition{tp: tp, topicID: id, parts: parts, purgatory: parts.Purgatory}
	h := newHome(p, dir, log)
	p.home.Store(h)
	p.role.Store(&Role{Leader: kafka.NoBroker, Epoch: kafka.NoLeaderEpoch})
	p.config.Store(c)
	hw := min(max(highWatermark, log.StartOffset()), log.EndOffset())
	p.hw.Store(int64(hw))
	p.asked = log.RecoveryPoint()
	dir.Add(h)
	return p
}

// NewBroken makes a partition whose log can't be used: it answers
// KAFKA_STORAGE_ERROR, and the rest of the broker serves. dir may be nil.
func NewBroken(parts *Parts, tp kafka.TopicPartition, id kafka.TopicID, dir *logdir.Dir, c *Config, cause error) *Partition {
	p := &Partition{tp: tp, topicID: id, parts: parts, purgatory: parts.Purgatory}
	p.home.Store(newHome(p, dir, nil))
	p.role.Store(&Role{Leader: kafka.NoBroker, Epoch: kafka.NoLeaderEpoch})
	p.config.Store(c)
	p.broken.Store(&cause)
	return p
}

// TopicPartition names the partition.
func (p *Partition) TopicPartition() kafka.TopicPartition { return p.tp }

// TopicID is the id of the partition's topic.
func (p *Partition) TopicID() kafka.TopicID { return p.topicID }

// Dir is the log directory; nil when none was online.
func (p *Partition) Dir() *logdir.Dir { return p.at().dir }

// Log is the partition's log; nil when it could not be opened. After a move to another
// log directory it is another one, and the old one is closed.
func (p *Partition) Log() *commitlog.Log { return p.at().log }

// Home is Log with the directory that it is in.
func (p *Partition) Home() (*commitlog.Log, *logdir.Dir) {
	h := p.at()
	return h.log, h.dir
}

// Config is the topic's present configuration.
func (p *Partition) Config() *Config { return p.config.Load() }

// SetConfig swaps the topic's configuration.
func (p *Partition) SetConfig(c *Config) {
	p.config.Store(c)
	log := p.Log()
	if log == nil {
		return
	}
	log.SetConfig(c.Log)
	p.mu.Lock()
	n := p.advance(p.role.Load())
	p.mu.Unlock()
	p.visible(n)
	p.release()
}

// Offline is nil while the partition's log can be used.
func (p *Partition) Offline() error {
	if err := p.broken.Load(); err != nil {
		return *err
	}
	return p.at().dir.Offline()
}

// Waiters is where requests hang that wait for bytes below the high watermark.
func (p *Partition) Waiters() *purgatory.List { return &p.waiters }

// ReplicaWaiters is where followers hang that wait for bytes below the log end.
func (p *Partition) ReplicaWaiters() *purgatory.List { return &p.replicaWaiters }

// HighWatermark is the exclusive end of what is committed.
func (p *Partition) HighWatermark() kafka.Offset { return kafka.Offset(p.hw.Load()) }

// LastStable is the exclusive end of what read_committed may see.
func (p *Partition) LastStable() kafka.Offset { return p.lastStable(p.HighWatermark()) }

// lastStable bounds the high watermark by the first offset of an open
// transaction.
func (p *Partition) lastStable(hw kafka.Offset) kafka.Offset {
	if u := p.at().log.FirstUnstableOffset(); u != kafka.NoOffset && u < hw {
		return u
	}
	return hw
}

// Close gives the role up, wakes the waiters and closes the log. When that fails,
// or the log had failed before, its directory does not count as cleanly stopped.
func (p *Partition) Close(clean bool) error {
	p.resign()
	h := p.at()
	if h.log == nil {
		return nil
	}
	if err := h.log.Close(clean && h.dir.Offline() == nil); err != nil {
		h.dir.NotClean()
		return fmt.Errorf("%s: close: %w", p.tp, err)
	}
	return nil
}

// Delete gives the role up and removes the log: its directory is renamed at once
// and removed afterwards. On a full disk it gives up the reserve. What a log that
// could not be opened has on the disk stays, and is set aside when somebody needs
// its name.
func (p *Partition) Delete() error {
	p.resign()
	var left error
	if old := p.leaving.Load(); old != nil {
		left = old.remove()
	}
	h := p.at()
	if h.dir != nil {
		h.dir.Remove(p.tp)
	}
	if h.log == nil {
		return nil
	}
	if err := errors.Join(left, h.withReserve(h.log.Delete)); err != nil {
		return fmt.Errorf("%s: delete: %w", p.tp, err)
	}
	return nil
}

// resign stops appends and wakes everybody who waits here.
func (p *Partition) resign() {
	p.mu.Lock()
	r := *p.role.Load()
	r.Leading, r.Leader = false, kafka.NoBroker
	p.role.Store(&r)
	p.gone, p.followers = true, nil
	p.mu.Unlock()
	p.release()
	p.purgatory.Nudge(&p.waiters)
	p.purgatory.Nudge(&p.replicaWaiters)
}
