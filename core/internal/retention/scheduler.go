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
	// Retention decides about topics that name no plugin (mortise.retention.plugin);
	// nil: they keep everything.
	Retention storage.Retention
	// Rule finds a plugin by the name that topics know it by; nil: there are none.
	Rule func(name string) (Rule, bool)
	// Committed are the offsets that the cluster's groups have committed for the topics'
	// partitions, from one look at all groups. An error says that some are not known:
	// rules that want them are not asked then. nil: there are none.
	Committed func(ctx context.Context, topics map[string]bool) (map[kafka.TopicPartition][]storage.GroupOffset, error)
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
	rescued  *metrics.Counter
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
	if o.Rule == nil {
		o.Rule = func(string) (Rule, bool) { return Rule{}, false }
	}
	if o.Committed == nil {
		o.Committed = func(context.Context, map[string]bool) (map[kafka.TopicPartition][]storage.GroupOffset, error) {
			return nil, nil
		}
	}
	s := &Scheduler{
		o:        o,
		rejected: o.Metrics.Counter("mortise_retention_rejected_verdicts_total", "Verdicts that broke a rule of the contract and were dropped."),
		failed:   o.Metrics.Counter("mortise_retention_errors_total", "Questions without an answer; everything was kept."),
		rescued:  o.Metrics.Counter("mortise_retention_rescued_logs_total", "Logs that time and size decided about because their plugins were silent and the disk nearly full."),
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
	var page []question
	segments := 0
	for p := range s.o.Partitions {
		if s.ctx.Err() != nil {
			return
		}
		if p.Offline() == nil {
			p.Log().ExpireProducers(now)
		}
		q, ok := facts(p, now, s.o.Config)
		if !ok || s.o.Retention == nil && q.own() {
			continue
		}
		if len(page) == pageSize || len(page) > 0 && segments+len(q.Segments) > storage.MaxSegments {
			s.ask(page)
			page, segments = page[:0], 0
		}
		page, segments = append(page, q), segments+len(q.Segments)
	}
	if len(page) > 0 {
		s.ask(page)
	}
}

// decide calls the plugin with a deadline. A panic is an error: it must not take
// the broker down.
func (s *Scheduler) decide(rule storage.Retention, facts []storage.LogFacts) (v []storage.Verdict, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, deadline)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("retention panicked: %v", r)
		}
	}()
	v, err = rule.Decide(ctx, facts)
	if err == nil {
		err = ctx.Err() // an answer after the deadline is none
	}
	return v, err
}

// execute deletes what was agreed on, if the log is still as the facts say.
func (s *Scheduler) execute(v storage.Verdict, q *question) {
	p := q.partition
	switch {
	case q.LeaderEpoch != int32(p.Role().Epoch) || !p.Role().Leading:
		s.reject(v, "the leader changed")
		return
	case int64(p.StartOffset()) != q.LogStart:
		return // DeleteRecords came in between: look again in the next round
	}
	upTo := kafka.Offset(q.Segments[v.DeleteOldest-1].NextOffset)
	if err := p.DeleteOldest(v.DeleteOldest, upTo, v.Reason); errors.Is(err, commitlog.ErrChanged) {
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
func usage(page []question) {
	type space struct{ free, total uint64 }
	known := map[string]space{}
	for i := range page {
		p := page[i].partition
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
