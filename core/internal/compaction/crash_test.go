package compaction

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/tool"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// filled is a log of several segments that were not compacted yet, durable up to its
// end if sync.
func filled(t *testing.T, fsys vfs.FS, sync bool) *rig {
	t.Helper()
	r := newRig(fsys, 3)
	if err := r.reopen(false); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		if err := r.append(1+r.rand.IntN(4), 8); err != nil {
			t.Fatal(err)
		}
	}
	if sync {
		point, err := r.log.Sync()
		if err != nil {
			t.Fatal(err)
		}
		r.point = point
	}
	return r
}

// crashes are the ways in which a disk loses what was not made durable.
func crashes(at int) []vfs.CrashOptions {
	return []vfs.CrashOptions{
		{KeepUnsynced: 0},
		{KeepUnsynced: 1},
		{KeepUnsynced: 0.6, Torn: true, Rand: rand.New(rand.NewPCG(uint64(at), 1))},
	}
}

// secondEvery: the recovery of every so many disks is crashed too.
const secondEvery = 7

// moment is a disk at one moment.
type moment struct {
	what string
	disk *vfs.Mem
}

// watch collects what crashes would leave of a disk, before each change.
func watch(disk *vfs.Mem, into *[]moment) {
	disk.OnOp(func(op vfs.Op) {
		if !op.Kind.Changes() {
			return
		}
		for i, how := range crashes(len(*into)) {
			*into = append(*into, moment{fmt.Sprintf("%d: %s %s, crash %d", len(*into), op.Kind, op.Name, i), disk.Crash(how)})
		}
	})
}

// TestCrashAtEveryStep cuts the power before every change that a pass makes to the
// disk, and again at every step of the recovery. The log must be as before or after
// each replacement: otherwise offsets could be there twice, or not at all.
func TestCrashAtEveryStep(t *testing.T) {
	for _, segmentBytes := range []int64{1500, 4000, 1 << 20} { // many groups, few, one
		disk := newMem(t)
		r := filled(t, disk, true)
		before, err := records(r.log)
		if err != nil {
			t.Fatal(err)
		}
		r.topic.SegmentBytes = segmentBytes
		var moments []moment
		watch(disk, &moments)
		for range 2 { // the second meets names that the first one used
			if err := r.compact(); err != nil {
				t.Fatal(err)
			}
			r.dirty = 0
		}
		disk.OnOp(nil)
		if err := reachesEnd(r.log); err != nil {
			t.Error(err)
		}
		after, err := records(r.log)
		if err != nil {
			t.Fatal(err)
		}
		if len(after) >= len(before) {
			t.Fatalf("%d records before, %d after", len(before), len(after))
		}
		allowed := [][]written{before, after}
		if segmentBytes < 1<<20 {
			allowed = nil
		}
		again := 0
		for i, m := range moments {
			var second []moment
			if i%secondEvery == 0 {
				watch(m.disk, &second)
			}
			if err := r.revive(m.disk, allowed); err != nil {
				t.Errorf("segments of %d, %s: %v", segmentBytes, m.what, err)
				continue
			}
			for _, n := range second {
				again++
				if err := r.revive(n.disk, allowed); err != nil {
					t.Errorf("segments of %d, %s, then in recovery %s: %v", segmentBytes, m.what, n.what, err)
				}
			}
		}
		t.Logf("segments of %d: %d disks, %d more in recovery; %d records of %d stay", segmentBytes, len(moments), again, len(after), len(before))
	}
}

// revive opens what a crash left, and compares it with what was written, with the
// lists of records that are allowed, and with what the offline check thinks of it.
func (r *rig) revive(disk *vfs.Mem, allowed [][]written) error {
	log, err := r.open(disk, false)
	if err != nil {
		return err
	}
	disk.OnOp(nil)
	defer log.Close(false)
	if log.EndOffset() != r.all[len(r.all)-1].offset+1 {
		return fmt.Errorf("it ends at %d, the last record is %d", log.EndOffset(), r.all[len(r.all)-1].offset)
	}
	if err := r.check(log); err != nil {
		return err
	}
	got, err := records(log)
	if err != nil {
		return err
	}
	if allowed != nil && !slices.ContainsFunc(allowed, func(list []written) bool { return slices.Equal(list, got) }) {
		return fmt.Errorf("%d records, that is neither before nor after", len(got))
	}
	if entries, err := disk.ReadDir(logDir); err == nil {
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".swap") || strings.HasSuffix(e.Name(), ".cleaned") {
				return fmt.Errorf("left behind: %s", e.Name())
			}
		}
	}
	return verify(disk)
}

// verify looks for damage as the offline tool does.
func verify(fsys vfs.FS) error {
	findings, err := tool.Verify(context.Background(), fsys, logDir, nil)
	if err != nil {
		return err
	}
	if len(findings) > 0 {
		return fmt.Errorf("%v", findings)
	}
	return nil
}

// TestUnsyncedDataIsMadeDurableFirst: a newer value in the page cache must not be the
// reason to remove an older one from the disk.
func TestUnsyncedDataIsMadeDurableFirst(t *testing.T) {
	disk := newMem(t)
	r := filled(t, disk, false)
	if err := r.compact(); err != nil {
		t.Fatal(err)
	}
	r.all = slices.DeleteFunc(r.all, func(w written) bool { return w.offset >= r.log.RecoveryPoint() })
	if len(r.all) == 0 || r.log.RecoveryPoint() < r.dirty {
		t.Fatalf("recovery point %d, compacted up to %d", r.log.RecoveryPoint(), r.dirty)
	}
	if err := r.revive(disk.Crash(vfs.CrashOptions{}), nil); err != nil {
		t.Fatal(err)
	}
}

// TestEveryOperationFailsOnce runs a pass again and again, each time with another
// operation failing. The log must be right or refuse, and be right after a restart.
func TestEveryOperationFailsOnce(t *testing.T) {
	for n := range int64(2000) {
		disk := newMem(t)
		var failed *vfs.Op
		armed := false
		inject := errorfs.Nth(n, errorfs.Any)
		count := vfs.NewCounting(errorfs.New(disk, func(op vfs.Op) error {
			if !armed {
				return nil
			}
			err := inject(op)
			if err != nil {
				failed = &op
			}
			return err
		}))
		r := filled(t, count, true)
		r.topic.SegmentBytes = 4000
		armed = true
		err := r.compact()
		if err != nil && !errors.Is(err, errorfs.ErrInjected) {
			t.Fatalf("operation %d: %v", n, err)
		}
		if failed == nil {
			t.Logf("%d operations failed, each once", n)
			return
		}
		what := fmt.Sprintf("operation %d, %s %s (%v)", n, failed.Kind, failed.Name, err)
		if err := r.check(r.log); err != nil && !errors.Is(err, commitlog.ErrStorage) {
			t.Errorf("%s: %v", what, err)
		}
		if again := r.compact(); again != nil && !errors.Is(again, commitlog.ErrStorage) {
			t.Errorf("%s: then %v", what, again)
		}
		_ = r.log.Close(false) // may say what failed, again
		if open := count.OpenFiles(); len(open) > 0 {
			t.Errorf("%s: left open: %v", what, open)
		}
		for _, how := range []vfs.CrashOptions{{KeepUnsynced: 0}, {KeepUnsynced: 1}} {
			if err := r.revive(disk.Crash(how), nil); err != nil {
				t.Errorf("%s, restart: %v", what, err)
			}
		}
	}
	t.Fatal("a pass has too many operations")
}
