package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
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

// Config are the broker's log.cleaner.* settings.
type Config struct {
	Threads        int           // passes at once
	MapBytes       int64         // of all threads' offset maps together
	MapLoad        float64       // how full a map may become
	BufferBytes    int64         // of all threads' buffers together
	BytesPerSecond float64       // read and written by all threads together
	Backoff        time.Duration // between rounds that find nothing to do
}

// backoffMin keeps a backoff of 0 from becoming a busy loop.
const backoffMin = 100 * time.Millisecond

// Options are the parts of a Scheduler.
type Options struct {
	Partitions iter.Seq[*partition.Partition] // those of this broker
	Config     func() Config                  // asked before each round
	// Moving tells whether a log is being copied to another directory; nil: none is. Its
	// compaction waits: the copy has what was there before, and would miss a tombstone
	// that a pass removes ahead of it.
	Moving  func(kafka.TopicPartition) bool
	Clock   clock.Clock       // nil: the system's
	Log     *slog.Logger      // nil: discarded
	Metrics *metrics.Registry // nil: a private one
}

// Scheduler compacts logs, the dirtiest first.
type Scheduler struct {
	o        Options
	done     *checkpoints
	throttle *throttle.Rate
	metrics  schedulerMetrics
	ctx      context.Context
	cancel   context.CancelFunc

	round sync.Mutex // one round at a time

	mu     sync.Mutex
	failed map[*partition.Partition]error // can't be compacted, and why; guarded by mu
	timer  clock.Timer                    // guarded by mu
	closed bool                           // guarded by mu
}

// New makes a scheduler that does not run yet.
func New(o Options) *Scheduler {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
	if o.Moving == nil {
		o.Moving = func(kafka.TopicPartition) bool { return false }
	}
	s := &Scheduler{o: o, done: newCheckpoints(), metrics: newMetrics(o.Metrics), failed: map[*partition.Partition]error{}}
	s.throttle = throttle.New(o.Clock)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Start compares the checkpoints with the logs as they are now, before anything is
// appended, and runs the first round one backoff from now.
func (s *Scheduler) Start() {
	for p := range s.o.Partitions {
		if p.Config().Topic.CleanupCompact && p.Offline() == nil {
			if _, _, err := s.examine(p); err != nil {
				s.o.Log.Warn("log was not examined for compaction", "partition", p.TopicPartition().String(), "err", err)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.timer == nil {
		s.timer = s.o.Clock.AfterFunc(s.backoff(), s.tick)
	}
}

// tick runs rounds until there is nothing to do, and comes again.
func (s *Scheduler) tick() {
	for s.Run() > 0 && s.ctx.Err() == nil {
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.timer.Reset(s.backoff())
	}
}

func (s *Scheduler) backoff() time.Duration { return max(s.o.Config().Backoff, backoffMin) }

// Close ends the rounds; one that runs is cancelled and waited for.
func (s *Scheduler) Close() {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.cancel()
	s.round.Lock()
	defer s.round.Unlock()
}

// Run does one round now: a pass over every log that is due. It returns how many logs
// were compacted further.
func (s *Scheduler) Run() int {
	s.round.Lock()
	defer s.round.Unlock()
	queue := s.due()
	c := s.o.Config()
	s.throttle.Set(max(c.BytesPerSecond, bytesPerSecondMin))
	threads := max(1, min(c.Threads, len(queue)))
	work := make(chan candidate, len(queue))
	for _, q := range queue {
		work <- q
	}
	close(work)
	var wg sync.WaitGroup
	var mu sync.Mutex
	n := 0
	for range threads {
		wg.Go(func() {
			for q := range work {
				if s.ctx.Err() == nil && s.compact(q, share(c)) {
					mu.Lock()
					n++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return n
}

// Kafka takes any number for these; beyond the bounds a pass would not end.
const (
	loadMin, loadMax  = 0.1, 0.95
	bytesPerSecondMin = 1 << 10
)

// share is what one thread may use.
func share(c Config) limits {
	n := max(1, c.Threads)
	read := max(readBytesMin, min(c.BufferBytes/int64(n)/2, math.MaxInt32))
	return limits{mapBytes: c.MapBytes / int64(n), mapLoad: min(max(c.MapLoad, loadMin), loadMax), readBytes: int(read)}
}

// due lists the logs to compact, the dirtiest first.
func (s *Scheduler) due() []candidate {
	s.forgetGone()
	var queue []candidate
	dirtiest := 0.0
	for p := range s.o.Partitions {
		if s.ctx.Err() != nil {
			return nil
		}
		if !p.Config().Topic.CleanupCompact || p.Offline() != nil || s.whyGaveUp(p) != nil {
			continue
		}
		c, _, err := s.examine(p)
		if err != nil {
			s.fault(p, err)
			continue
		}
		if c.clean+c.bytes > 0 {
			dirtiest = max(dirtiest, c.ratio())
		}
		if c.due() && !s.o.Moving(p.TopicPartition()) {
			queue = append(queue, c)
		}
	}
	s.metrics.dirtiest.Set(int64(dirtiest * 100))
	slices.SortStableFunc(queue, func(a, b candidate) int { return cmp.Compare(b.ratio(), a.ratio()) })
	return queue
}

// examine finds out what there is to do in a log. A checkpoint that can't be true is
// replaced at once: the log may grow beyond it.
func (s *Scheduler) examine(p *partition.Partition) (candidate, bool, error) {
	log := p.Log()
	done, err := s.done.of(p)
	if err != nil {
		return candidate{}, false, err
	}
	f := facts{start: log.StartOffset(), stable: p.LastStable(), end: log.EndOffset(), segments: log.Segments(), earliest: log.EarliestFrom}
	c, reset, err := examine(&f, p.Config().Topic, done, clock.Millis(s.o.Clock.Now()))
	c.p = p
	if err != nil || !reset {
		return c, reset, err
	}
	if !p.Config().Topic.CleanupDelete {
		s.o.Log.Warn("compaction begins anew: its checkpoint lies outside of the log", "partition", p.TopicPartition().String(), "from", int64(c.dirty))
	}
	return c, reset, s.done.set(p, log, c.dirty)
}

// compact does one pass, and reports whether the log was compacted further.
func (s *Scheduler) compact(c candidate, l limits) bool {
	begin := s.o.Clock.Now()
	var st stats
	log, dir := c.p.Home()
	p := pass{
		ctx: s.ctx, log: log, topic: c.p.Config().Topic, dirty: c.dirty, upper: c.upper,
		nowMS: clock.Millis(begin), throttle: s.throttle, limits: l, stats: &st,
	}
	end, err := p.run()
	s.metrics.count(&st)
	if err == nil {
		err = s.done.set(c.p, log, end)
	}
	if err != nil && c.p.Log() != log { // it moved to another directory meanwhile: no fault of that one
		if errors.Is(err, commitlog.ErrStorage) {
			dir.Failed(fmt.Sprintf("compaction of %s", c.p.TopicPartition()), err)
		}
		return false
	}
	if err != nil {
		s.fault(c.p, err)
		return false
	}
	s.metrics.passes.Add(1)
	s.o.Log.Info("compacted", "partition", c.p.TopicPartition().String(), "from", int64(c.dirty), "to", int64(end),
		"read_bytes", st.read, "written_bytes", st.written, "records", st.records, "kept", st.kept,
		"segments", st.segments, "now", st.after, "keys", st.mapEntries, "took", s.o.Clock.Now().Sub(begin))
	return end > c.dirty
}

// Forget drops the checkpoint of a name in a directory, because another log gets it.
func (s *Scheduler) Forget(d *logdir.Dir, tp kafka.TopicPartition) error { return s.done.forget(d, tp) }

// fault decides what an error means. The log or the broker going away is none; a full
// disk passes; a log that failed takes its directory offline, as any I/O does; anything
// else stops the compaction of this one log.
func (s *Scheduler) fault(p *partition.Partition, err error) {
	tp := p.TopicPartition()
	switch {
	case s.ctx.Err() != nil, errors.Is(err, commitlog.ErrClosed), errors.Is(err, commitlog.ErrChanged):
		return
	case commitlog.IsTransient(err):
		s.metrics.retries.Add(1)
		s.o.Log.Warn("compaction will be tried again", "partition", tp.String(), "err", err)
		return
	case errors.Is(err, commitlog.ErrStorage):
		p.Dir().Failed(fmt.Sprintf("compaction of %s", tp), err)
	}
	s.giveUp(p, err)
	s.o.Log.Error("log can't be compacted; it is left alone until the broker starts again", "partition", tp.String(), "err", err)
}
