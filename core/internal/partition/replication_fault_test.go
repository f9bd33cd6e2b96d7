package partition

import (
	"errors"
	"io/fs"
	"path"
	"syscall"
	"testing"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// onFaulty makes three copies of which the second is on a disk that fails on demand.
func onFaulty(t *testing.T, change func(*config.Topic)) (*copies, *faultyFS) {
	faulty := &faultyFS{FS: vfs.NewMem()}
	disks := []vfs.FS{vfs.NewMem(), faulty, vfs.NewMem()}
	return newCopiesOn(t, func() vfs.FS { d := disks[0]; disks = disks[1:]; return d }, change), faulty
}

// isStorage reports whether a fetcher would be told that the disk has failed.
func isStorage(err error) bool {
	var ke *kafka.Error
	return errors.As(err, &ke) && ke.Code == kafka.ErrKafkaStorageError
}

// TestFollowersDiskFails: it costs the follower's copy, until the broker starts again.
func TestFollowersDiskFails(t *testing.T) {
	for name, fail := range map[string]func(c *copies, f *faultyFS) error{
		"a write": func(c *copies, f *faultyFS) error {
			err := error(syscall.EIO)
			f.write.Store(&err)
			c.append(1)
			return c.pull(2)
		},
		"the flush of a follower that must flush": func(c *copies, f *faultyFS) error {
			err := error(syscall.EIO)
			f.sync.Store(&err)
			c.append(1)
			return c.pull(2)
		},
		"the write of a truncation's checkpoint": func(c *copies, f *faultyFS) error {
			c.elect(3, 3)
			c.append(1)
			err := error(syscall.EIO)
			f.sync.Store(&err)
			return c.pull(2)
		},
	} {
		c, f := onFaulty(t, func(c *config.Topic) { c.FlushMessages = 1 })
		c.elect(1, 1, 2)
		c.append(1)
		if err := c.pull(2); err != nil {
			t.Fatal(err)
		}
		if err := fail(c, f); !isStorage(err) {
			t.Errorf("%s: %v", name, err)
		}
		f.write.Store(nil)
		f.sync.Store(nil)
		_, _, epoch := c.at(2).FetchState()
		if _, err := c.at(2).takeOver(nil, epoch, 0, 0); !isStorage(err) || c.at(2).Offline() == nil {
			t.Errorf("%s, afterwards: %v", name, err)
		}
		if err := c.at(2).TruncateFully(epoch, 0); !isStorage(err) {
			t.Errorf("%s, afterwards it truncates: %v", name, err)
		}
	}
}

// TestFollowersDiskIsFull for a while: it goes on where it was.
func TestFollowersDiskIsFull(t *testing.T) {
	c, f := onFaulty(t, nil)
	c.elect(1, 1, 2)
	c.append(1)
	c.catchUp(2)
	full := error(syscall.ENOSPC)
	f.write.Store(&full)
	c.append(1)
	if err := c.pull(2); !isStorage(err) || c.at(2).Offline() != nil {
		t.Fatalf("%v, offline: %v", err, c.at(2).Offline())
	}
	f.write.Store(nil)
	c.catchUp(2)
	c.expect(2, 4, 4)
}

// TestFullDiskSpoilsATruncation: what was left half done does not pass with the full
// disk. The copy is offline, which the cluster is told, and not tried for ever; and the
// next start recovers it.
func TestFullDiskSpoilsATruncation(t *testing.T) {
	c, f := onFaulty(t, nil)
	c.elect(1, 1, 2)
	c.append(1)
	c.catchUp(2)
	c.elect(3, 3)
	c.append(1)
	full := error(syscall.ENOSPC)
	f.sync.Store(&full)
	if err := c.pull(2); !isStorage(err) {
		t.Fatal(err)
	}
	f.sync.Store(nil)
	p := c.at(2)
	if p.Log().Failure() == nil || !errors.Is(p.Offline(), syscall.ENOSPC) {
		t.Errorf("the log failed with %v, offline: %v", p.Log().Failure(), p.Offline())
	}
	if err := p.Close(true); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("closed: %v", err)
	}
	dirs := c.rigs[2].dirs
	mark := path.Join(dirs.Dirs()[0].Path, logdir.CleanShutdownFile)
	if err := dirs.Close(true, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is marked as stopped cleanly: %v", err)
	}
}

// TestLeaderWithAFullDiskFollows: what it has alone is cut all the same, and with room it
// goes on.
func TestLeaderWithAFullDiskFollows(t *testing.T) {
	c, f := onFaulty(t, nil)
	c.elect(2, 2, 1)
	c.append(1)
	c.catchUp(1)
	c.append(1) // nobody else has it
	full := error(syscall.ENOSPC)
	f.write.Store(&full)
	c.elect(1, 1)
	c.append(1)
	for range 4 {
		if err := c.pull(2); err != nil && !isStorage(err) || c.at(2).Offline() != nil {
			t.Fatalf("%v, offline: %v", err, c.at(2).Offline())
		}
	}
	f.write.Store(nil)
	c.catchUp(2, 3)
	c.same()
}

// TestTruncationThatAFullDiskStops: some segments are gone, and one that is read is not cut
// yet. Nothing behind the end counts as committed meanwhile.
func TestTruncationThatAFullDiskStops(t *testing.T) {
	c, f := onFaulty(t, func(c *config.Topic) { c.SegmentBytes = 250 })
	c.elect(1, 1, 2, 3)
	c.append(1)
	c.catchUp(2, 3)
	c.elect(1, 1, 2)
	for range 6 {
		c.append(1)
	}
	c.catchUp(2)
	c.elect(3, 3)
	c.append(1)
	p := c.at(2)
	full := p.EndOffset()
	if segments := p.Log().Segments(); p.HighWatermark() != full || len(segments) < 3 || segments[1].Base <= 2 {
		t.Fatalf("high watermark %d of %d, segments %+v: the test makes no point", p.HighWatermark(), full, segments)
	}
	read, err := p.Log().Read(0, commitlog.ReadOptions{MaxBytes: 1 << 20, Upper: full})
	if err != nil {
		t.Fatal(err)
	}
	noSpace := error(syscall.ENOSPC)
	f.write.Store(&noSpace)
	if err := c.pull(2); !isStorage(err) || p.Offline() != nil {
		t.Fatalf("%v, offline: %v", err, p.Offline())
	}
	if end := p.EndOffset(); end <= 2 || end >= full || p.HighWatermark() > end {
		t.Errorf("the log ends at %d, before it did at %d; high watermark %d", end, full, p.HighWatermark())
	}
	read.Range.Release()
	f.write.Store(nil)
	c.catchUp(1, 2)
	c.same()
}

// TestLeaderKeepsWaitersOfAFailedFlush from waiting for ever: the log has to be opened
// again, and others can lead.
func TestLeaderKeepsWaitersOfAFailedFlush(t *testing.T) {
	faulty := &faultyFS{FS: vfs.NewMem()}
	disks := []vfs.FS{faulty, vfs.NewMem(), vfs.NewMem()}
	c := newCopiesOn(t, func() vfs.FS { d := disks[0]; disks = disks[1:]; return d }, func(c *config.Topic) { c.FlushMessages = 1 })
	c.elect(1, 1, 2)
	handles := error(syscall.EMFILE) // the process's trouble: the directory stays
	faulty.sync.Store(&handles)
	out := c.append(AllReplicas)
	w := &flushed{}
	w.wg.Add(1)
	c.at(1).AwaitWithin(Wait{UpTo: out.Await, Epoch: out.Epoch, All: true, Limit: NoLimit}, w)
	w.wg.Wait()
	if !isStorage(w.errs[0]) {
		t.Errorf("told %v", w.errs[0])
	}
	if p := c.at(1); !errors.Is(p.Offline(), syscall.EMFILE) || p.Dir().Offline() != nil {
		t.Errorf("offline: %v, its directory: %v", p.Offline(), p.Dir().Offline())
	}
}
