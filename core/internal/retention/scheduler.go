package retention

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/sdk/storage"
)

// pageSize is how many logs one question is about at most.
const pageSize = 500

// deadline is how long a Retention may take for one question.
const deadline = 5 * time.Second

// Options are the parts of a Scheduler.
type Options struct {
	Partitions iter.Seq[*partition.Partition] // those of this broker
	Retention  storage.Retention
	// Config are the values that a topic itself has; nil: none are shown.
	Config func(topic string) map[string]string
	// Interval is log.retention.check.interval.ms; it is asked before each wait.
	Interval func() time.Duration
	Clock    clock.Clock       // nil: the system's
	Log      *slog.Logger      // nil: discarded
	Metrics  *metrics.Registry // nil: a private one
}

// Scheduler runs retention rounds.
type Scheduler struct {
	o        Options
	rejected *metrics.Counter
	failed   *metrics.Counter
	segments *metrics.Counter

	round  sync.Mutex // one round at a time
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	timer  clock.Timer
	closed bool
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
	if o.Config == nil {
		o.Config = func(string) map[string]string { return nil }
	}
	s := &Scheduler{
		o:        o,
		rejected: o.Metrics.Counter("mortise_retention_rejected_verdicts_total", "Verdicts that broke a rule of the contract and were dropped."),
		failed:   o.Metrics.Counter("mortise_retention_errors_total", "Questions without an answer; everything was kept."),
		segments: o.Metrics.Counter("mortise_retention_deleted_segments_total", "Segments deleted by retention."),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Start runs the first round one interval from now.
func (s *Scheduler) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.timer == nil {
		s.timer = s.o.Clock.AfterFunc(s.o.Interval(), s.tick)
	}
}

// tick runs a round and comes again.
func (s *Scheduler) tick() {
	s.Run()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.timer.Reset(s.o.Interval())
	}
}

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

// Run does one round now.
func (s *Scheduler) Run() {
	s.round.Lock()
	defer s.round.Unlock()
	now := clock.Millis(s.o.Clock.Now())
	var page []storage.LogFacts
	var asked []*partition.Partition
	for p := range s.o.Partitions {
		if s.ctx.Err() != nil {
			return
		}
		if p.Offline() == nil {
			p.Log().ExpireProducers(now)
		}
		f, ok := facts(p, now, s.o.Config)
		if !ok {
			continue
		}
		page, asked = append(page, f), append(asked, p)
		if len(page) == pageSize {
			s.ask(page, asked)
			page, asked = page[:0], asked[:0]
		}
	}
	if len(page) > 0 {
		s.ask(page, asked)
	}
}

// ask puts one question and executes the verdicts that pass.
func (s *Scheduler) ask(page []storage.LogFacts, asked []*partition.Partition) {
	usage(page, asked)
	verdicts, err := s.decide(page)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			s.failed.Add(1)
			s.o.Log.Error("retention gave no answer; everything is kept", "logs", len(page), "err", err)
		}
		return
	}
	byName := make(map[kafka.TopicPartition]int, len(page))
	for i, p := range asked {
		byName[p.TopicPartition()] = i
	}
	for _, v := range verdicts {
		tp := kafka.TopicPartition{Topic: v.Topic, Partition: v.Partition}
		i, ok := byName[tp]
		if !ok {
			s.reject(v, "the log was not in the question, or is named twice")
			continue
		}
		delete(byName, tp)
		s.execute(v, &page[i], asked[i])
	}
}

// decide calls the plugin with a deadline. A panic is an error: it must not take
// the broker down.
func (s *Scheduler) decide(page []storage.LogFacts) (v []storage.Verdict, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, deadline)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("retention panicked: %v", r)
		}
	}()
	v, err = s.o.Retention.Decide(ctx, page)
	if err == nil {
		err = ctx.Err() // an answer after the deadline is none
	}
	return v, err
}

// execute checks a verdict against the facts it was made from, and against the
// log as it is now.
func (s *Scheduler) execute(v storage.Verdict, f *storage.LogFacts, p *partition.Partition) {
	limit, n := min(f.HighWatermark, f.LastStable), v.DeleteOldest
	switch {
	case n == 0:
		return
	case n < 0 || n > len(f.Segments):
		s.reject(v, fmt.Sprintf("there are %d segments", len(f.Segments)))
		return
	case f.Segments[n-1].NextOffset > limit:
		s.reject(v, fmt.Sprintf("it goes up to offset %d, beyond %d", f.Segments[n-1].NextOffset, limit))
		return
	case v.LeaderEpoch != int32(p.Role().Epoch) || !p.Role().Leading:
		s.reject(v, "the leader changed")
		return
	case int64(p.StartOffset()) != f.LogStart:
		return // DeleteRecords came in between: look again in the next round
	}
	if err := p.DeleteOldest(v.DeleteOldest, kafka.Offset(f.Segments[n-1].NextOffset), v.Reason); errors.Is(err, commitlog.ErrChanged) {
		return // compaction made one segment of several: look again in the next round
	} else if err != nil {
		s.o.Log.Error("retention could not delete", "partition", p.TopicPartition().String(), "err", err)
		return
	}
	s.segments.Add(uint64(v.DeleteOldest))
}

// reject drops a verdict and says so.
func (s *Scheduler) reject(v storage.Verdict, why string) {
	s.rejected.Add(1)
	s.o.Log.Warn("retention verdict dropped; the data stays", "topic", v.Topic, "partition", v.Partition, "segments", v.DeleteOldest, "why", why)
}

// usage fills in how full the disks are, asking each directory once.
func usage(page []storage.LogFacts, asked []*partition.Partition) {
	type space struct{ free, total uint64 }
	known := map[string]space{}
	for i, p := range asked {
		u, ok := known[p.Dir().Path]
		if !ok {
			if got, err := p.Dir().Usage(); err == nil {
				u = space{got.Available, got.Total}
			}
			known[p.Dir().Path] = u
		}
		page[i].DiskFree, page[i].DiskTotal = u.free, u.total
	}
}
