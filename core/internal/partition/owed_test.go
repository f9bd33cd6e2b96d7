package partition

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// TestTruncationOwesItsCheckpoint: a full disk keeps the checkpoints of a truncation from
// being written. Nothing is appended before they are, by a follower or a leader, or a crash
// would take the log for damaged, or drop it as lying before its start.
func TestTruncationOwesItsCheckpoint(t *testing.T) {
	for name, start := range map[string]kafka.Offset{"recovery point behind the end": 0, "log start behind the end": 6} {
		for next, id := range map[string]kafka.BrokerID{"follows": 3, "leads": 2} {
			t.Run(name+", "+next, func(t *testing.T) { owesCheckpoint(t, start, id) })
		}
	}
}

func owesCheckpoint(t *testing.T, start kafka.Offset, leader kafka.BrokerID) {
	var full atomic.Bool
	disk := vfs.NewMem()
	disks := []vfs.FS{vfs.NewMem(), errorfs.New(disk, func(op vfs.Op) error {
		if full.Load() && strings.Contains(op.Name, "-offset-checkpoint") {
			return syscall.ENOSPC
		}
		return nil
	}), vfs.NewMem()}
	c := newCopiesOn(t, func() vfs.FS { d := disks[0]; disks = disks[1:]; return d }, nil)
	c.size = 1000
	c.elect(1, 1, 2)
	for range 4 {
		c.append(1)
	}
	c.catchUp(2)
	if start > 0 {
		if _, code := c.at(1).DeleteRecords(start); code != kafka.None {
			t.Fatal(code)
		}
		c.catchUp(2)
	}
	p, dir := c.at(2), c.rigs[2].dirs.Dirs()[0]
	if _, err := p.Log().Sync(); err != nil {
		t.Fatal(err)
	}
	if err := dir.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	if p.RecoveryPoint() != 8 || p.StartOffset() != start {
		t.Fatalf("flushed to %d, from %d: the test makes no point", p.RecoveryPoint(), p.StartOffset())
	}

	c.elect(3, 3) // it has nothing
	c.append(1)
	full.Store(true)
	for range 3 {
		if err := c.pull(2); !isStorage(err) || p.Offline() != nil || p.EndOffset() != 0 {
			t.Fatalf("%v, offline: %v; it ends at %d", err, p.Offline(), p.EndOffset())
		}
	}
	if !p.Full() {
		t.Error("it finds no space for what it must append, and does not say so")
	}
	opens := func(want kafka.Offset) {
		t.Helper()
		for seed := range uint64(20) {
			r, err := c.rigs[2].reopen(disk.Crash(vfs.CrashOptions{KeepUnsynced: 0.5, Torn: true, Rand: rand.New(rand.NewPCG(seed, 3))}))
			if err != nil {
				t.Fatalf("after a crash: %v", err)
			}
			if end := r.p.EndOffset(); end > want || r.p.StartOffset() != 0 {
				t.Fatalf("after a crash it has %d to %d, want at most %d", r.p.StartOffset(), end, want)
			}
		}
	}
	if start == 0 {
		opens(0)
	}

	c.elect(leader, leader, 3)
	if leader == 2 {
		c.rigs[2].clock.Advance(time.Second) // or the directory refuses, because it was full a moment ago
		if out := c.rigs[2].append(1, batch(1)); out.Code != kafka.ErrKafkaStorageError || p.EndOffset() != 0 {
			t.Fatalf("it appends as the leader, %s, and ends at %d", out.Code, p.EndOffset())
		}
		c.rigs[2].clock.Advance(time.Second)
	}
	full.Store(false)
	end := kafka.Offset(2)
	if leader == 2 {
		c.append(1)
	} else if err := c.pull(2); err != nil {
		t.Fatal(err)
	}
	if p.EndOffset() != end {
		t.Fatalf("with room it ends at %d, want %d", p.EndOffset(), end)
	}
	opens(end)
}
