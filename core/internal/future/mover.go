package future

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/throttle"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
)

const (
	// turnBytes is about what a move copies before another one has its turn.
	turnBytes = 1 << 20
	// lastMax is the most that is copied while appends wait.
	lastMax = 256 << 10
	// retryAfter is how long a move waits for a disk that is full, or for the end of the
	// move before.
	retryAfter = time.Second
)

// Options are the parts of a Mover. All are needed unless they say otherwise.
type Options struct {
	Dirs *logdir.Set
	// Partition finds a partition of this broker; nil: it is not here.
	Partition func(kafka.TopicPartition) *partition.Partition
	// Copy are what a copy of a partition's log is opened with in a folder.
	Copy func(p *partition.Partition, folder string) commitlog.Options
	// Forget is told that another log gets a partition's name in a directory; nil:
	// nobody needs to know.
	Forget  func(*logdir.Dir, kafka.TopicPartition) error
	Threads int // moves that copy at once; 0: as many as there are directories
	Clock   clock.Clock
	Log     *slog.Logger
	Metrics *metrics.Registry
}

// Mover moves partitions between log directories. It is safe for concurrent use.
type Mover struct {
	o       Options
	rate    *throttle.Rate
	metrics moverMetrics
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup // workers

	mu      sync.Mutex
	moves   map[kafka.TopicPartition]*move // guarded by mu
	queue   []*move                        // have a turn to come; guarded by mu
	waiting map[*move]clock.Timer          // wait for a disk; guarded by mu
	workers int                            // guarded by mu
	closed  bool                           // guarded by mu
}

// moverMetrics is what a Mover counts.
type moverMetrics struct {
	moves                            *metrics.Gauge
	copied, swaps, failures, retries *metrics.Counter
}

// New makes a Mover that does nothing yet.
func New(o Options) *Mover {
	if o.Threads == 0 {
		o.Threads = len(o.Dirs.Dirs())
	}
	m := &Mover{o: o, rate: throttle.New(o.Clock), moves: map[kafka.TopicPartition]*move{}, waiting: map[*move]clock.Timer{},
		metrics: moverMetrics{
			moves:    o.Metrics.Gauge("mortise_future_moves", "Partitions that are being copied to another log directory."),
			copied:   o.Metrics.Counter("mortise_future_copied_bytes_total", "Bytes copied between log directories."),
			swaps:    o.Metrics.Counter("mortise_future_swaps_total", "Copies that took the place of their log."),
			failures: o.Metrics.Counter("mortise_future_failures_total", "Moves between log directories that were given up."),
			retries:  o.Metrics.Counter("mortise_future_retries_total", "Turns of a move that found the disk full, no file handle, or the log of the move before."),
		}}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m
}

// SetRate bounds the bytes that all moves copy in a second
// (replica.alter.log.dirs.io.max.bytes.per.second); 0: none are.
func (m *Mover) SetRate(bytesPerSecond float64) { m.rate.Set(bytesPerSecond) }

// Move has a partition moved to a directory. A move to another one ends, and so does
// every move when the partition is there. It returns when the copy has begun, and may
// ask the disk. The error is one of the directory.
func (m *Mover) Move(p *partition.Partition, dir *logdir.Dir) error {
	tp := p.TopicPartition()
	if m.toward(tp, dir) {
		return nil
	}
	if p.Dir() == dir {
		return nil
	}
	v := m.newMove(p, dir, dir.FuturePath(tp))
	if err := v.begin(); err != nil {
		return err
	}
	m.add(v)
	return nil
}

// toward reports whether a partition is on its way to a directory already. A move to
// another one is cancelled.
func (m *Mover) toward(tp kafka.TopicPartition, dir *logdir.Dir) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.moves[tp]
	if v == nil || v.dir == dir {
		return v != nil
	}
	m.cancel(v)
	return false
}

// cancel takes a move back. Its worker, or the next one, removes the copy. Caller
// holds mu.
func (m *Mover) cancel(v *move) {
	v.cancelled.Store(true)
	v.stop()
	delete(m.moves, v.p.TopicPartition())
	if t := m.waiting[v]; t != nil && t.Stop() {
		delete(m.waiting, v)
		m.enqueue(v)
	}
}

// add queues a move. One that came meanwhile for the same partition is cancelled.
func (m *Mover) add(v *move) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if other := m.moves[v.p.TopicPartition()]; other != nil {
		m.cancel(other)
	}
	m.moves[v.p.TopicPartition()] = v
	m.metrics.moves.Add(1)
	m.enqueue(v)
}

// enqueue gives a move its turn, and a worker if there may be one more. Caller holds
// mu.
func (m *Mover) enqueue(v *move) {
	m.queue = append(m.queue, v)
	if m.closed || m.workers >= m.o.Threads {
		return
	}
	m.workers++
	m.running.Go(m.work)
}

// work gives moves their turns until there is none.
func (m *Mover) work() {
	for v := m.next(); v != nil; v = m.next() {
		switch after := v.turn(); after {
		case again:
			m.mu.Lock()
			m.queue = append(m.queue, v)
			m.mu.Unlock()
		case later:
			m.metrics.retries.Add(1)
			m.wait(v)
		case over:
			m.forget(v)
		}
	}
}

// next takes the move whose turn it is; nil: the worker ends.
func (m *Mover) next() *move {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || len(m.queue) == 0 {
		m.workers--
		return nil
	}
	v := m.queue[0]
	m.queue = append(m.queue[:0], m.queue[1:]...)
	return v
}

// wait queues a move after a while.
func (m *Mover) wait(v *move) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting[v] = m.o.Clock.AfterFunc(retryAfter, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.waiting[v] != nil { // else Close has it
			delete(m.waiting, v)
			m.enqueue(v)
		}
	})
}

// forget ends a move.
func (m *Mover) forget(v *move) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v.stop()
	if tp := v.p.TopicPartition(); m.moves[tp] == v {
		delete(m.moves, tp)
	}
	m.metrics.moves.Add(-1)
}

// Close stops copying and waits for it. Copies stay on the disk and are taken up at the
// next start.
func (m *Mover) Close() {
	m.mu.Lock()
	m.closed = true
	for _, t := range m.waiting {
		t.Stop()
	}
	m.mu.Unlock()
	m.stop()
	m.running.Wait()
	m.mu.Lock()
	left := slices.AppendSeq(m.queue, maps.Keys(m.waiting))
	m.queue = nil
	clear(m.waiting)
	m.mu.Unlock()
	for _, v := range left {
		v.leave()
	}
}
