package commitlog_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// step is one thing that happens to a log.
type step struct {
	name string
	do   func(*rig) error
}

// appends is n batches, every third of them idempotent.
func appends(n int) step {
	return step{fmt.Sprintf("append %d", n), func(r *rig) error {
		for i := range n {
			producer := kafka.NoProducerID
			if i%3 == 1 {
				producer = idempotent
			}
			if err := r.append(producer); err != nil {
				return err
			}
		}
		return nil
	}}
}

// life is all that can happen to a log, in an order that makes each meet files
// that are durable, and files that are not.
func life() []step {
	sync := step{"sync", (*rig).sync}
	epoch := step{"epoch", (*rig).nextEpoch}
	checkpoint := step{"checkpoint", func(r *rig) error { r.checkpoint(); return nil }}
	return []step{
		{"open", func(r *rig) error { return r.open(false) }},
		epoch, appends(9), sync, appends(4), checkpoint, epoch, appends(5), sync, checkpoint,
		{"roll", func(r *rig) error { return r.log.Roll() }},
		appends(2), {"truncate 4", func(r *rig) error { return r.truncate(4) }},
		epoch, appends(3), sync, {"truncate 9", func(r *rig) error { return r.truncate(9) }},
		checkpoint, epoch, appends(12), sync, appends(2),
		{"start at 3", func(r *rig) error { return r.setStart(3) }}, checkpoint,
		appends(3), {"delete", func(r *rig) error { return r.deleteOldest(1) }}, checkpoint,
		{"removal", func(r *rig) error { r.clock.Advance(2_000_000_000); return nil }},
		appends(2), sync, {"stop", func(r *rig) error { return r.reopen(true) }},
		appends(4), epoch, appends(1), sync, {"kill", func(r *rig) error { return r.reopen(false) }},
		appends(3), {"start over", func(r *rig) error { return r.startAt(r.log.EndOffset() + 100) }}, checkpoint,
		appends(6), sync, appends(2),
		{"stop", func(r *rig) error { return r.log.Close(true) }},
	}
}

// crashes are the ways in which a disk loses what was not made durable.
func crashes(at int) []vfs.CrashOptions {
	random := func(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(uint64(at), seed)) }
	return []vfs.CrashOptions{
		{KeepUnsynced: 0},
		{KeepUnsynced: 1},
		{KeepUnsynced: 0.5, Torn: true, Rand: random(1)},
		{KeepUnsynced: 0.9, Torn: true, Rand: random(2)},
	}
}

// moment is a disk at one moment with what it owes.
type moment struct {
	what string
	owed *promise
	disk *vfs.Mem
}

// TestCrashAtEveryChange cuts the power before every operation that changes the
// disk in a log's whole life. Otherwise an acknowledged batch could be gone, or one
// come back that nobody wrote.
func TestCrashAtEveryChange(t *testing.T) {
	disk := newMem(t)
	r := newRig(disk, 1)
	doing, count := "", 0
	var moments []moment
	disk.OnOp(func(op vfs.Op) {
		if !op.Kind.Changes() && op.Kind != vfs.OpOpen {
			return
		}
		for i, how := range crashes(count) {
			what := fmt.Sprintf("change %d, %s %s in %q, crash %d", count, op.Kind, op.Name, doing, i)
			moments = append(moments, moment{what, r.clone(), disk.Crash(how)})
		}
		count++
	})
	for _, s := range life() {
		doing = s.name
		if err := s.do(r); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
	}
	disk.OnOp(nil)
	if count < 100 {
		t.Fatalf("only %d moments to crash at", count)
	}
	for i, m := range moments {
		if i%len(crashes(0)) < 2 { // no hole is possible: a lost checkpoint must do no harm
			lost := m.disk.Crash(vfs.CrashOptions{})
			if err := m.owed.verify(options(lost, r.clock, kafka.NoOffset, m.owed.start)); err != nil {
				t.Errorf("%s, checkpoint lost: %v", m.what, err)
			}
		}
		if err := m.owed.verify(options(m.disk, r.clock, m.owed.point, m.owed.start)); err != nil {
			t.Errorf("%s: %v", m.what, err)
		}
	}
	t.Logf("%d moments, %d disks", count, len(moments))
}

// TestCrashInRecovery cuts the power again while a log recovers. Otherwise a
// second failure could turn a repair into a loss.
func TestCrashInRecovery(t *testing.T) {
	for seed := range uint64(12) {
		disk := newMem(t)
		r := newRig(disk, seed)
		for _, s := range life()[:int(13+seed)] {
			if err := s.do(r); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, s.name, err)
			}
		}
		if err := crashTwice(r, disk, seed); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// crashTwice crashes a disk, recovers it, and crashes at each step of that.
func crashTwice(r *rig, disk *vfs.Mem, seed uint64) error {
	once := disk.Crash(vfs.CrashOptions{KeepUnsynced: 0.8, Torn: true, Rand: rand.New(rand.NewPCG(seed, 3))})
	var moments []moment
	once.OnOp(func(op vfs.Op) {
		if op.Kind.Changes() || op.Kind == vfs.OpOpen {
			for i, how := range crashes(len(moments)) {
				moments = append(moments, moment{fmt.Sprintf("%s %s, crash %d", op.Kind, op.Name, i), &r.promise, once.Crash(how)})
			}
		}
	})
	again := newRig(once, seed)
	again.promise = *r.clone()
	if err := again.open(false); err != nil {
		return err
	}
	once.OnOp(nil)
	var errs []error
	for _, m := range moments {
		if err := m.owed.verify(options(m.disk, r.clock, m.owed.point, m.owed.start)); err != nil {
			errs = append(errs, fmt.Errorf("recovery, %s: %w", m.what, err))
		}
	}
	return errors.Join(errs...)
}

// TestTruncationOutlivesAPowerCut, whether somebody reads what is cut or not: what the
// leader did not have is gone when Truncate returns. If it came back, a high watermark
// that was written since would call it committed.
func TestTruncationOutlivesAPowerCut(t *testing.T) {
	for _, reader := range []bool{false, true} {
		disk := newMem(t)
		r := newRig(disk, 4)
		must := func(errs ...error) {
			t.Helper()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
		}
		must(r.open(false), appends(3).do(r), r.sync())
		if reader {
			s, err := r.log.Read(0, commitlog.ReadOptions{MaxBytes: 1, Upper: r.log.EndOffset(), MinOne: true})
			must(err)
			defer s.Range.Release()
		}
		must(r.truncate(2))
		kept := slices.Clone(r.current)
		must(r.nextEpoch(), appends(2).do(r))
		r.fs = disk.Crash(vfs.CrashOptions{})
		must(r.open(false))
		if got, err := walk(r.log); err != nil || !same(got, kept) {
			t.Errorf("with a reader: %v: %s is left, %v; want %s", reader, describe(got), err, describe(kept))
		}
	}
}
