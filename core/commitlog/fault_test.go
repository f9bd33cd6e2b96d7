package commitlog_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// failing is a disk on which one operation fails.
type failing struct {
	mem   *vfs.Mem
	count *vfs.Counting
	op    *vfs.Op // the one that failed
}

// newFailing is a disk on which the n-th operation fails.
func newFailing(t *testing.T, n int64) *failing {
	f := &failing{mem: newMem(t)}
	inject := errorfs.Nth(n, errorfs.Any)
	f.count = vfs.NewCounting(errorfs.New(f.mem, func(op vfs.Op) error {
		err := inject(op)
		if err != nil {
			f.op = &op
		}
		return err
	}))
	return f
}

// faultsMax bounds the operations of one life.
const faultsMax = 20_000

// TestEveryOperationFailsOnce runs a log's life again and again, each time with
// another operation failing. The log must say so or get over it, and after a
// restart everything acknowledged must be there. Otherwise one bad answer of the
// disk could lose data that a producer was told is safe.
func TestEveryOperationFailsOnce(t *testing.T) {
	for n := range int64(faultsMax) {
		f := newFailing(t, n)
		r := newRig(f.count, 1)
		err := f.live(r)
		if f.op == nil {
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d operations failed, each once", n)
			return
		}
		if err == nil {
			err = f.restart(r)
		}
		if err != nil {
			t.Errorf("operation %d, %s %s: %v", n, f.op.Kind, f.op.Name, err)
		}
		if t.Failed() && n > 400 && testing.Short() {
			return
		}
	}
	t.Fatalf("a life has more than %d operations", faultsMax)
}

// live runs the steps of a life up to the first that fails, and looks at the log
// then.
func (f *failing) live(r *rig) error {
	for _, s := range life() {
		err := s.do(r)
		if err == nil {
			continue
		}
		if !errors.Is(err, errorfs.ErrInjected) {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if r.log == nil || s.name == "stop" || s.name == "kill" {
			return nil
		}
		if !errors.Is(err, commitlog.ErrStorage) {
			return fmt.Errorf("%s: the error is no ErrStorage: %w", s.name, err)
		}
		if err := f.after(r); err != nil {
			return fmt.Errorf("after %q failed: %w", s.name, err)
		}
		return nil
	}
	return nil
}

// after looks at a log of which an operation failed: it is right or refuses.
func (f *failing) after(r *rig) error {
	all, err := walk(r.log)
	if err != nil && !errors.Is(err, commitlog.ErrStorage) && !errors.Is(err, errorfs.ErrInjected) {
		return fmt.Errorf("walk: %w", err)
	}
	if err == nil {
		r.current = all
	}
	_, again := r.log.Sync()
	if lost := f.op.Kind == vfs.OpSyncData || f.op.Kind == vfs.OpSync; lost && strings.HasSuffix(f.op.Name, ".log") {
		if !errors.Is(again, commitlog.ErrStorage) {
			return fmt.Errorf("a sync after a failed sync says %w", again)
		}
		return nil
	}
	if again != nil {
		return refuses(again)
	}
	if err := r.append(kafka.NoProducerID); err != nil {
		return refuses(err)
	}
	if err := r.sync(); err != nil {
		return refuses(err)
	}
	return nil
}

// refuses accepts a log that says that it failed.
func refuses(err error) error {
	if errors.Is(err, commitlog.ErrStorage) {
		return nil
	}
	return err
}

// restart closes the log, checks that it left no file open, and verifies what two
// kinds of crash leave.
func (f *failing) restart(r *rig) error {
	if r.log != nil {
		_ = r.log.Close(false) // may say what failed, again
	}
	if open := f.count.OpenFiles(); len(open) > 0 {
		return fmt.Errorf("left open: %s", strings.Join(open, ", "))
	}
	for i, how := range []vfs.CrashOptions{{KeepUnsynced: 0}, {KeepUnsynced: 1}} {
		if err := r.verify(options(f.mem.Crash(how), r.clock, r.point, r.start)); err != nil {
			return fmt.Errorf("restart %d: %w", i, err)
		}
	}
	return nil
}

// TestDiskFull lets the disk fill up at many different places of a write. The log
// must stay readable, let go of data, and take appends again once there is room,
// without a restart (LOG-12).
func TestDiskFull(t *testing.T) {
	for capacity := int64(9000); capacity < 11_000; capacity += 83 {
		if err := fillUp(newMem(t), capacity); err != nil {
			t.Errorf("capacity %d: %v", capacity, err)
		}
	}
}

func fillUp(disk *vfs.Mem, capacity int64) error {
	disk.SetCapacity(capacity)
	r := newRig(disk, uint64(capacity))
	if err := r.open(false); err != nil {
		return err
	}
	if err := untilFull(r); err != nil {
		return err
	}
	full := slices.Clone(r.current)
	if got, err := walk(r.log); err != nil || !same(got, full) {
		return fmt.Errorf("full disk: read %s, %v; want %s", describe(got), err, describe(full))
	}
	if err := r.deleteOldest(2); err != nil {
		return fmt.Errorf("delete on a full disk: %w", err)
	}
	r.clock.Advance(2_000_000_000)
	for range 3 {
		if err := r.append(idempotent); err != nil {
			return fmt.Errorf("append with room again: %w", err)
		}
	}
	if err := r.sync(); err != nil {
		return fmt.Errorf("sync with room again: %w", err)
	}
	if got, err := walk(r.log); err != nil || !same(got, r.current) {
		return fmt.Errorf("with room again: read %s, %v; want %s", describe(got), err, describe(r.current))
	}
	if err := r.log.Close(false); err != nil {
		return err
	}
	after := disk.Crash(vfs.CrashOptions{})
	after.SetCapacity(0)
	return r.verify(options(after, r.clock, r.point, r.start))
}

// untilFull appends until the disk is full.
func untilFull(r *rig) error {
	for range walkMax {
		end := r.log.EndOffset()
		err := r.append(kafka.NoProducerID)
		if err == nil {
			continue
		}
		if !vfs.IsNoSpace(err) || !errors.Is(err, commitlog.ErrStorage) {
			return fmt.Errorf("append to a full disk: %w", err)
		}
		if r.log.EndOffset() != end {
			return fmt.Errorf("a failed append moved the end from %d to %d", end, r.log.EndOffset())
		}
		return nil
	}
	return errors.New("the disk never filled up")
}

// TestUndoneWriteStaysUndone: a write that a full disk refused, and that was undone, does
// not come back when the log was closed in order before the power failed.
func TestUndoneWriteStaysUndone(t *testing.T) {
	for seed := range uint64(40) {
		disk := newMem(t)
		disk.SetCapacity(9000)
		r := newRig(disk, seed)
		if err := r.open(false); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.append(idempotent), r.sync(), r.reopen(true)); err != nil {
			t.Fatal(err)
		}
		used, err := disk.Usage("/")
		if err != nil {
			t.Fatal(err)
		}
		disk.SetCapacity(int64(used.Total-used.Available) + 60) // less than a batch
		if err := untilFull(r); err != nil {
			t.Fatal(err)
		}
		disk.SetCapacity(0)
		if err := r.log.Close(true); err != nil {
			t.Fatal(err)
		}
		r.checkpoint()
		r.fs = disk.Crash(vfs.CrashOptions{KeepUnsynced: 0.5, Rand: rand.New(rand.NewPCG(seed, 2))})
		if err := r.open(true); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got, err := walk(r.log); err != nil || !same(got, r.current) {
			t.Fatalf("seed %d: read %s, %v; want %s", seed, describe(got), err, describe(r.current))
		}
	}
}
