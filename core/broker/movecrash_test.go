package broker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/vfs"
)

// moveMoment is a disk when the power went, and how many records were acknowledged.
type moveMoment struct {
	what string
	kill bool // the process was killed, the machine was not
	disk *vfs.Mem
	owed int
}

// moveWatch collects what crashes would leave.
type moveWatch struct {
	mu      sync.Mutex
	count   int // changes seen; guarded by mu
	appends int // those that only append; guarded by mu
	owed    int // guarded by mu
	moments []moveMoment
}

// appendsBetween: appends are alike, so that only every so many of them is crashed.
const appendsBetween = 8

// see is called before each operation of the disk.
func (w *moveWatch) see(disk *vfs.Mem, op vfs.Op) {
	if !op.Kind.Changes() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	if op.Kind == vfs.OpWrite && strings.HasSuffix(op.Name, ".log") {
		if w.appends++; w.appends%appendsBetween != 0 {
			return
		}
	}
	random := rand.New(rand.NewPCG(uint64(w.count), 1))
	for _, how := range []vfs.CrashOptions{{KeepUnsynced: 0}, {KeepUnsynced: 1}, {KeepUnsynced: 0.6, Torn: true, Rand: random}} {
		w.moments = append(w.moments, moveMoment{fmt.Sprintf("change %d, %s %s, %.1f kept", w.count, op.Kind, op.Name, how.KeepUnsynced),
			how.KeepUnsynced == 1, disk.Crash(how), w.owed})
	}
}

// acknowledged notes that n records were.
func (w *moveWatch) acknowledged(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owed = n
}

// TestMoveSurvivesACrashAtEveryStep cuts the power before each change that a move makes
// to the disk while records are written. Whatever was promised must be there after it,
// in one directory, and the move must come to its end. Otherwise records are lost that
// went to the copy only, or that only the old log had on the disk.
func TestMoveSurvivesACrashAtEveryStep(t *testing.T) {
	for _, durability := range []string{config.DurabilityPageCache, config.DurabilityFsync} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			crashMove(t, durability == config.DurabilityFsync)
		})
	}
}

func crashMove(t *testing.T, fsync bool) {
	disk := vfs.NewMem()
	static := config.Static{"log.segment.bytes": "1048576", "log.segment.delete.delay.ms": "0"}
	if fsync {
		static[config.DurabilityKey] = config.DurabilityFsync
	}
	b, c := twoDirs(t, disk, static, 60)
	w := &moveWatch{owed: 60}
	disk.OnOp(func(op vfs.Op) { w.see(disk, op) })
	if err := move(t, c, "t", dirB); err != nil {
		t.Fatal(err)
	}
	for i := 60; i < 100; i++ {
		write(t, c, "t", i, i+1)
		w.acknowledged(i + 1)
	}
	moved(t, c, "t", dirB)
	disk.OnOp(nil)
	if len(w.moments) < 60 {
		t.Fatalf("%d moments, want the steps of a move", len(w.moments))
	}
	for _, m := range w.moments {
		b.RestartOn(m.disk)
		if err := m.verify(t, b, fsync); err != nil {
			t.Errorf("%s: %v", m.what, err)
		}
	}
	t.Logf("%d crashes", len(w.moments))
}

// verify compares what a broker has after a crash with what was promised.
func (m *moveMoment) verify(t *testing.T, b *brokertest.Broker, fsync bool) error {
	c := b.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer c.Close()
	end := endOf(t, c)
	if (fsync || m.kill) && end < m.owed {
		return fmt.Errorf("%d records are left, %d were acknowledged", end, m.owed)
	}
	readAll(t, b, "t", end)
	write(t, c, "t", end, end+1)
	if err := settles(t, b, c); err != nil {
		return err
	}
	readAll(t, b, "t", end+1)
	return nil
}

// endOf is the end of the log of t.
func endOf(t *testing.T, c *kgo.Client) int {
	t.Helper()
	return int(request(t, c, listOffsets(-1)).Topics[0].Partitions[0].Offset)
}

// settles waits until the partition is in one directory and nothing moves.
func settles(t *testing.T, b *brokertest.Broker, c *kgo.Client) (err error) {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for ctx.Err() == nil {
		all := places(t, c, "t", 0)
		if len(all) == 1 && !all[0].future {
			if err = onlyOne(b.FS()); err == nil {
				return nil
			}
			continue
		}
		err = fmt.Errorf("the move does not end: %v", all)
	}
	return err
}

// onlyOne wants one folder of the partition in all directories. One that was set aside,
// because its topic's id did not reach the disk, does not count.
func onlyOne(disk vfs.FS) error {
	var found []string
	for _, dir := range []string{dirA, dirB} {
		entries, err := disk.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "t-0") && !strings.HasSuffix(e.Name(), "-delete") && !strings.HasSuffix(e.Name(), "-stray") {
				found = append(found, dir+"/"+e.Name())
			}
		}
	}
	if len(found) != 1 {
		return fmt.Errorf("the partition is in %q", found)
	}
	return nil
}
