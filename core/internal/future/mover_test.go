package future

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// rig is a broker's directories with partitions of them, and a Mover.
type rig struct {
	t     *testing.T
	fs    *vfs.Mem
	dirs  *logdir.Set
	parts map[kafka.TopicPartition]*partition.Partition
	mover *Mover

	shared *partition.Parts
}

// newRig opens directories a and b of a memory disk, on which folders were found.
func newRig(t *testing.T, found ...string) *rig {
	t.Helper()
	r := &rig{t: t, fs: vfs.NewMem(), parts: map[kafka.TopicPartition]*partition.Partition{}}
	for _, folder := range found {
		if err := r.fs.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dirs, err := logdir.Open(logdir.Options{FS: r.fs, Dirs: []string{"/a", "/b"}, ClusterID: "c", NodeID: 1, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	r.dirs = dirs
	r.shared = &partition.Parts{Clock: clock.System{}, Purgatory: purgatory.New(purgatory.Options{}),
		Log: slog.New(slog.DiscardHandler), Metrics: metrics.NewRegistry()}
	r.mover = New(Options{Dirs: dirs, Threads: 1, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Metrics: metrics.NewRegistry(),
		Partition: func(tp kafka.TopicPartition) *partition.Partition { return r.parts[tp] },
		Copy: func(p *partition.Partition, folder string) commitlog.Options {
			return r.options(p.TopicPartition(), folder)
		}})
	t.Cleanup(func() {
		r.mover.Close()
		for _, p := range r.parts {
			_ = p.Close(true)
		}
		r.shared.Purgatory.Close()
		if err := dirs.Close(true, 1); err != nil {
			t.Error(err)
		}
	})
	return r
}

// options are what a log is opened with.
func (r *rig) options(tp kafka.TopicPartition, folder string) commitlog.Options {
	return commitlog.Options{FS: r.fs, Dir: folder, TP: tp, RecoveryPoint: kafka.NoOffset, StartOffset: kafka.NoOffset}
}

// partition makes a partition in a with n batches of a kilobyte.
func (r *rig) partition(number int32, n int) *partition.Partition {
	r.t.Helper()
	tp, dir := kafka.TopicPartition{Topic: "t", Partition: number}, r.dirs.Dirs()[0]
	log, err := commitlog.Open(context.Background(), r.options(tp, dir.PartitionPath(tp)))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range n {
		w := record.NewBuilder(record.PlainOptions(record.None))
		w.Append(int64(i), nil, fmt.Appendf(nil, "%01000d", i), nil)
		if _, err := log.Append(w.Bytes(), 0, commitlog.AppendInfo{MaxTimestamp: int64(i), LogAppendTimeMS: -1}); err != nil {
			r.t.Fatal(err)
		}
	}
	topic := config.NewResolver(nil).Topic(meta.Empty("c"), "t")
	r.parts[tp] = partition.New(r.shared, tp, kafka.NoTopicID, dir, log, partition.NewConfig(topic, 1<<40), log.EndOffset())
	return r.parts[tp]
}

// move asks for a move.
func (r *rig) move(p *partition.Partition, dir *logdir.Dir) {
	r.t.Helper()
	if err := r.mover.Move(p, dir); err != nil {
		r.t.Fatal(err)
	}
}

// nothingIn wants no folder in a directory.
func (r *rig) nothingIn(dir string) {
	r.t.Helper()
	entries, err := r.fs.ReadDir(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			r.t.Errorf("%s is left in %s", e.Name(), dir)
		}
	}
}

// TestRateOfMoves: a move takes as long as the rate says, and is seen while it is on.
func TestRateOfMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.partition(0, 500)
		a, b := r.dirs.Dirs()[0], r.dirs.Dirs()[1]
		r.mover.SetRate(100 << 10)
		r.move(p, b)
		<-time.After(4 * time.Second) // the bubble's clock
		synctest.Wait()
		if p.Dir() != a || len(b.Futures()) != 1 {
			t.Errorf("after 4 s it is in %s, and there are %d copies", p.Dir().Path, len(b.Futures()))
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if p.Dir() != b || len(b.Futures()) != 0 || p.EndOffset() != 500 {
			t.Errorf("500 KiB at 100 KiB/s: after 6 s it is in %s with %d records", p.Dir().Path, p.EndOffset())
		}
	})
}

// TestNewRequestEndsAMove: back home at once, though the rate would take for ever; and
// what was copied is gone.
func TestNewRequestEndsAMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p, q := r.partition(0, 100), r.partition(1, 100)
		a, b := r.dirs.Dirs()[0], r.dirs.Dirs()[1]
		r.mover.SetRate(0)
		r.move(p, b)
		r.move(q, b) // waits for the one thread
		r.move(p, b) // is on its way
		synctest.Wait()
		if n := len(b.Futures()); n != 2 {
			t.Fatalf("%d copies, want 2", n)
		}
		r.move(p, a)
		r.move(q, a)
		synctest.Wait()
		r.nothingIn("/b")
		if len(b.Futures()) != 0 || p.Dir() != a || q.Dir() != a {
			t.Errorf("%d copies, in %s and %s", len(b.Futures()), p.Dir().Path, q.Dir().Path)
		}
	})
}

// TestDeletedPartitionEndsItsMove: otherwise its copy would come to life as a stray.
func TestDeletedPartitionEndsItsMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.partition(0, 100)
		b := r.dirs.Dirs()[1]
		r.mover.SetRate(0)
		r.move(p, b)
		synctest.Wait()
		if err := p.Delete(); err != nil {
			t.Fatal(err)
		}
		delete(r.parts, p.TopicPartition())
		r.mover.SetRate(1 << 30)
		synctest.Wait()
		r.nothingIn("/b")
		if n := len(b.Futures()); n != 0 {
			t.Errorf("%d copies, want none", n)
		}
	})
}

// TestResume takes copies up as they are, but for those of topics that are compacted:
// the log may have lost tombstones since, of keys that the copy still has.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const id = "0123456789abcdef0123456789abcdef"
		r := newRig(t, "/b/t-0."+id+"-future", "/b/t-1."+id+"-future")
		r.mover.SetRate(0)
		plain, compacted := r.partition(0, 100), r.partition(1, 100)
		topic := *compacted.Config().Topic
		topic.CleanupCompact = true
		compacted.SetConfig(partition.NewConfig(&topic, 1<<40))
		r.mover.Resume()
		synctest.Wait()
		for p, want := range map[*partition.Partition]bool{plain: true, compacted: false} {
			if !r.mover.Moving(p.TopicPartition()) {
				t.Errorf("%s is not on its way", p.TopicPartition())
			}
			_, err := r.fs.Stat("/b/" + p.TopicPartition().String() + "." + id + "-future")
			if (err == nil) != want {
				t.Errorf("%s: the copy that was found is there: %t, want %t", p.TopicPartition(), err == nil, want)
			}
		}
		r.mover.SetRate(1 << 30)
		synctest.Wait()
		for _, p := range r.parts {
			if p.Dir().Path != "/b" || p.EndOffset() != 100 {
				t.Errorf("%s is in %s with %d records", p.TopicPartition(), p.Dir().Path, p.EndOffset())
			}
		}
	})
}
