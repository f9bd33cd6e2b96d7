package retention

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"path"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/sdk/storage"
)

// decide is a Retention from a function.
type decide func(ctx context.Context, logs []storage.LogFacts) ([]storage.Verdict, error)

func (d decide) Decide(ctx context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	return d(ctx, logs)
}

// rig is a partition of four segments, one record each, under a scheduler.
type rig struct {
	clock *clock.Manual
	p     *partition.Partition
	s     *Scheduler
	asked [][]storage.LogFacts
}

func newRig(t *testing.T, rule storage.Retention) *rig {
	return newRigOf(t, rule, func(*config.Topic, *Options) {}, roomyDisk{vfs.OS()})
}

// newRigOf is a rig with a topic and options that change has changed.
func newRigOf(t *testing.T, rule storage.Retention, change func(*config.Topic, *Options), disk vfs.FS) *rig {
	t.Helper()
	r := &rig{clock: clock.NewManual(time.UnixMilli(1_700_000_000_000))}
	dirs, err := logdir.Open(logdir.Options{FS: disk, Dirs: []string{path.Join(t.TempDir(), "d")}, ClusterID: "c", NodeID: 1, Clock: r.clock, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	topic := &config.Topic{
		CleanupDelete: true, MaxMessageBytes: 1 << 20, MinInsyncReplicas: 1, RetentionMS: 1000, RetentionBytes: -1,
		SegmentBytes: 100, SegmentMS: math.MaxInt64, SegmentIndexBytes: 1 << 20, IndexIntervalBytes: 4096,
		FlushMessages: math.MaxInt64, FlushMS: math.MaxInt64, TimestampBeforeMaxMS: math.MaxInt64, TimestampAfterMaxMS: math.MaxInt64,
	}
	o := Options{
		Partitions: func(yield func(*partition.Partition) bool) { yield(r.p) },
		Interval:   func() time.Duration { return time.Minute }, Clock: r.clock,
	}
	change(topic, &o)
	c := partition.NewConfig(topic, 1<<40)
	tp, id, dir := kafka.TopicPartition{Topic: "t"}, kafka.NewTopicID(), dirs.Dirs()[0]
	log, err := commitlog.Open(context.Background(), commitlog.Options{
		FS: vfs.OS(), Dir: dir.PartitionPath(tp), TP: tp, TopicID: id, Clock: r.clock, Config: c.Log,
		RecoveryPoint: kafka.NoOffset, StartOffset: kafka.NoOffset,
	})
	if err != nil {
		t.Fatal(err)
	}
	purg := purgatory.New(purgatory.Options{Clock: r.clock})
	parts := &partition.Parts{Clock: r.clock, Purgatory: purg, Log: slog.New(slog.DiscardHandler), Metrics: metrics.NewRegistry()}
	r.p = partition.New(parts, tp, id, dir, log, c, kafka.NoOffset)
	if err := r.p.SetRole(partition.Role{Leading: true, Leader: 1, Epoch: 6, Replicas: []kafka.BrokerID{1}, ISR: []kafka.BrokerID{1}}); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		b := record.NewBuilder(record.PlainOptions(record.None))
		b.Append(clock.Millis(r.clock.Now()), nil, []byte("value"), nil)
		if out := r.p.Append(&partition.Append{Batch: b.Bytes(), Acks: 1, Version: 9}); out.Code != kafka.None {
			t.Fatal(out.Code)
		}
	}
	ask := decide(func(ctx context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
		r.asked = append(r.asked, append([]storage.LogFacts(nil), logs...))
		return rule.Decide(ctx, logs)
	})
	o.Retention = ask
	r.s = New(o)
	t.Cleanup(func() {
		r.s.Close()
		purg.Close()
		_ = r.p.Close(true)
		_ = dirs.Close(true, 0)
	})
	return r
}

// answer is a rule with one fixed verdict.
func answer(v ...storage.Verdict) storage.Retention {
	return decide(func(context.Context, []storage.LogFacts) ([]storage.Verdict, error) { return v, nil })
}

func verdict(n int) storage.Verdict {
	return storage.Verdict{Topic: "t", LeaderEpoch: 6, DeleteOldest: n, Reason: "test"}
}

func TestVerdictsAreChecked(t *testing.T) {
	stale, other := verdict(1), verdict(1)
	stale.LeaderEpoch = 5
	other.Topic = "u"
	for _, c := range []struct {
		name     string
		rule     storage.Retention
		start    kafka.Offset
		rejected uint64
		failed   uint64
	}{
		{"nothing", answer(), 0, 0, 0},
		{"keep", answer(verdict(0)), 0, 0, 0},
		{"one segment", answer(verdict(1)), 1, 0, 0},
		{"all segments", answer(verdict(4)), 4, 0, 0},
		{"more than there are", answer(verdict(5)), 0, 1, 0},
		{"negative", answer(verdict(-1)), 0, 1, 0},
		{"another epoch", answer(stale), 0, 1, 0},
		{"a log that was not asked about", answer(other), 0, 1, 0},
		{"named twice", answer(verdict(1), verdict(2)), 1, 1, 0},
		{"an error keeps", decide(func(context.Context, []storage.LogFacts) ([]storage.Verdict, error) {
			return []storage.Verdict{verdict(1)}, errors.New("down")
		}), 0, 0, 1},
		{"a panic keeps", decide(func(context.Context, []storage.LogFacts) ([]storage.Verdict, error) { panic("bug") }), 0, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.rule)
			r.s.Run()
			if got := r.p.StartOffset(); got != c.start {
				t.Errorf("log start %d, want %d", got, c.start)
			}
			if r.s.rejected.Load() != c.rejected || r.s.failed.Load() != c.failed {
				t.Errorf("rejected %d, failed %d, want %d and %d", r.s.rejected.Load(), r.s.failed.Load(), c.rejected, c.failed)
			}
		})
	}
}

func TestFactsAndSchedule(t *testing.T) {
	r := newRig(t, answer())
	r.s.Start()
	r.clock.Advance(59 * time.Second)
	if len(r.asked) != 0 {
		t.Fatal("asked before the interval")
	}
	r.clock.Advance(time.Second)
	r.clock.Advance(time.Minute)
	if len(r.asked) != 2 {
		t.Fatalf("asked %d times in two intervals, want 2", len(r.asked))
	}
	f := r.asked[0][0]
	if f.Topic != "t" || f.LeaderEpoch != 6 || f.HighWatermark != 4 || f.LastStable != 4 || f.RetentionMS != 1000 || f.DiskTotal == 0 {
		t.Fatalf("facts %+v", f)
	}
	if len(f.Segments) != 4 || !f.Segments[3].Active || f.Segments[0].Active || f.Segments[1].BaseOffset != 1 || f.Segments[1].NextOffset != 2 {
		t.Fatalf("segments %+v", f.Segments)
	}
	r.s.Close()
	r.clock.Advance(time.Hour)
	if len(r.asked) != 2 {
		t.Fatal("asked after Close")
	}
}

func TestTopicsThatDoNotDeleteAreNotAsked(t *testing.T) {
	r := newRig(t, answer(verdict(1)))
	topic := *r.p.Config().Topic
	topic.CleanupDelete, topic.CleanupCompact = false, true
	r.p.SetConfig(partition.NewConfig(&topic, 1<<40))
	r.s.Run()
	if len(r.asked) != 0 || r.p.StartOffset() != 0 {
		t.Fatalf("asked %d times, log start %d", len(r.asked), r.p.StartOffset())
	}
}

// A plugin gets the topic's own values, as a copy: they belong to the image.
func TestOwnValuesAreShownAsACopy(t *testing.T) {
	own := map[string]string{"mortise.example": "1"}
	r := newRig(t, decide(func(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
		if logs[0].Config["mortise.example"] != "1" {
			t.Errorf("config %v, want the topic's own", logs[0].Config)
		}
		logs[0].Config["mortise.example"] = "2"
		return nil, nil
	}))
	r.s.o.Config = func(topic string) map[string]string {
		if topic != "t" {
			t.Errorf("asked for the values of %q", topic)
		}
		return own
	}
	r.s.Run()
	if len(r.asked) != 1 || own["mortise.example"] != "1" {
		t.Errorf("asked %d times, the image's values are %v now", len(r.asked), own)
	}
}
