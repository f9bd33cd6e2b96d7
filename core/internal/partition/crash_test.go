package partition

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// crashed is a follower's disk when the power goes.
type crashed struct {
	what  string
	disk  *vfs.Mem
	safe  kafka.Offset // the follower's records below it were flushed, and the leader has them
	epoch kafka.LeaderEpoch
}

// reopen starts a broker anew on a disk, as reconcile does after an unclean stop.
func (r *rig) reopen(disk vfs.FS) (*rig, error) {
	dir := r.p.Dir().Path
	dirs, err := logdir.Open(logdir.Options{FS: disk, Dirs: []string{dir}, ClusterID: "c", NodeID: 1, Clock: r.clock, ReserveBytes: -1})
	if err != nil {
		return nil, err
	}
	d, tp := dirs.Dirs()[0], r.p.TopicPartition()
	log, err := commitlog.Open(context.Background(), commitlog.Options{
		FS: disk, Dir: d.PartitionPath(tp), TP: tp, TopicID: r.p.TopicID(), Clock: r.clock, Config: r.p.Config().Log,
		RecoveryPoint: d.RecoveryPoint(tp), StartOffset: d.LogStart(tp),
	})
	if err != nil {
		return nil, err
	}
	next := *r
	next.dirs = dirs
	next.p = New(r.p.parts, tp, r.p.TopicID(), d, log, r.p.Config(), d.HighWatermark(tp))
	return &next, nil
}

// epochsAgree compares the log's epoch history with its batches.
func (c *copies) epochsAgree(id kafka.BrokerID) error {
	log := c.at(id).Log()
	for _, b := range batchesIn(c.t, c.bytesOf(id, log.EndOffset())) {
		if got := log.EpochOf(b.BaseOffset()); got != b.LeaderEpoch() {
			return fmt.Errorf("the history says that offset %d is of epoch %d, its batch is of %d", b.BaseOffset(), got, b.LeaderEpoch())
		}
	}
	if _, end := log.EpochEnd(log.LatestEpoch()); log.LatestEpoch() >= 0 && end > log.EndOffset() {
		return fmt.Errorf("the latest epoch ends at %d, the log at %d", end, log.EndOffset())
	}
	return nil
}

// TestCrashInATruncation cuts the power before every change of a follower's disk while
// it truncates, appends what the new leader has, and begins anew. Whatever is left, its
// history of epochs and its batches agree, what was flushed and is common is there, and
// it becomes the leader's copy again.
func TestCrashInATruncation(t *testing.T) {
	disk := vfs.NewMem()
	disks := []vfs.FS{vfs.NewMem(), disk, vfs.NewMem()}
	c := newCopiesOn(t, func() vfs.FS { d := disks[0]; disks = disks[1:]; return d }, func(c *config.Topic) { c.SegmentBytes = 7000 })
	c.size = 600 // a write is many sectors, which are lost each by itself
	var safe kafka.Offset
	doing, count := "", 0
	var moments []crashed
	disk.OnOp(func(op vfs.Op) {
		if !op.Kind.Changes() && op.Kind != vfs.OpOpen {
			return
		}
		count++
		random := rand.New(rand.NewPCG(uint64(count), 1))
		torn := vfs.CrashOptions{KeepUnsynced: 0.5, Torn: true, Rand: random}
		for i, how := range []vfs.CrashOptions{{KeepUnsynced: 0}, {KeepUnsynced: 1}, torn, torn} {
			moments = append(moments, crashed{
				fmt.Sprintf("change %d, %s %s in %q, crash %d", count, op.Kind, op.Name, doing, i), disk.Crash(how), safe, c.state.LeaderEpoch,
			})
		}
	})
	flush := func() {
		if _, err := (*flusher)(c.at(2).at()).Sync(); err != nil {
			t.Fatal(err)
		}
		if err := c.at(2).Dir().Checkpoint(); err != nil {
			t.Fatal(err)
		}
	}
	pulls := func(what string) {
		doing = what
		c.catchUp(2)
	}
	c.unfit[2], c.unfit[3] = true, true
	c.elect(1, 1)
	c.append(1)
	c.append(1)
	c.catchUp(2, 3)
	c.elect(3, 3) // 1 and 2 go on with one history, 3 with another
	c.append(1)
	c.catchUp(1)
	c.elect(1, 1)
	for range 6 {
		c.append(1)
	}
	pulls("append")
	flush()
	safe = 4
	c.elect(3, 3)
	c.append(1)
	c.append(1)
	pulls("truncate below the recovery point")
	flush()
	safe = 10
	c.elect(1, 1) // it was not there: the epoch of 3 is news to it
	c.append(1)
	safe = 6
	pulls("truncate again")
	c.elect(2, 2) // an epoch without records
	c.elect(1, 1)
	c.append(1)
	pulls("forget an epoch")
	flush()
	if _, code := c.at(1).DeleteRecords(c.at(1).HighWatermark()); code != kafka.None {
		t.Fatal(code)
	}
	safe = 0
	c.append(1)
	doing = "begin anew"
	if err := c.at(2).TruncateFully(c.state.LeaderEpoch, c.at(1).StartOffset()); err != nil {
		t.Fatal(err)
	}
	pulls("begin anew")
	disk.OnOp(nil)
	if count < 40 {
		t.Fatalf("only %d moments to crash at", count)
	}
	c.outlive(t, moments)
	t.Logf("%d moments, %d disks", count, len(moments))
}

// outlive starts copy 2 on each disk, and has it become the leader's copy.
func (c *copies) outlive(t *testing.T, moments []crashed) {
	was := c.rigs[2]
	defer func() { c.rigs[2] = was }()
	for _, m := range moments {
		r, err := was.reopen(m.disk)
		if err != nil {
			t.Errorf("%s: %v", m.what, err)
			continue
		}
		c.rigs[2] = r
		if end := r.p.EndOffset(); end < m.safe {
			t.Errorf("%s: the log ends at %d, up to %d it was flushed", m.what, end, m.safe)
		}
		if err := c.epochsAgree(2); err != nil {
			t.Errorf("%s: %v", m.what, err)
		}
		c.tell(2)
		c.catchUp(2)
		if err := c.epochsAgree(2); err != nil {
			t.Errorf("%s, after it caught up: %v", m.what, err)
		}
		if got, want := string(c.bytesOf(2, c.at(2).EndOffset())), string(c.bytesOf(1, c.at(1).EndOffset())); got != want {
			t.Errorf("%s: not the leader's copy: %s", m.what, c.shown())
		}
		_ = r.p.Close(false)
		_ = r.dirs.Close(false, 0)
	}
}
