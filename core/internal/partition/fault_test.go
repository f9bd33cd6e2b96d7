package partition

import (
	"io"
	"io/fs"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// faultyFS fails the writes or the syncs of files on demand.
type faultyFS struct {
	vfs.FS
	write, sync atomic.Pointer[error]
}

func (f *faultyFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, fs: f}, nil
}

type faultyFile struct {
	vfs.File
	fs *faultyFS
}

// or is the injected error, or what f gives.
func or[T any](injected *atomic.Pointer[error], f func() (T, error)) (T, error) {
	if err := injected.Load(); err != nil {
		var none T
		return none, *err
	}
	return f()
}

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	return or(&f.fs.write, func() (int, error) { return f.File.WriteAt(b, off) })
}

func (f *faultyFile) SyncData() error {
	_, err := or(&f.fs.sync, func() (struct{}, error) { return struct{}{}, f.File.SyncData() })
	return err
}

func (f *faultyFile) Sync() error {
	_, err := or(&f.fs.sync, func() (struct{}, error) { return struct{}{}, f.File.Sync() })
	return err
}

func TestWriteErrorTakesTheDirectoryOffline(t *testing.T) {
	fsys := &faultyFS{FS: vfs.OS()}
	r := newRig(t, fsys, nil)
	r.lead(0)
	r.mustAppend(batch(1))
	broken := error(io.ErrUnexpectedEOF)
	fsys.write.Store(&broken)
	if out := r.append(1, batch(2)); out.Code != kafka.ErrKafkaStorageError || out.Base != kafka.NoOffset {
		t.Fatalf("append on a broken disk: %+v", out)
	}
	fsys.write.Store(nil)
	if out := r.append(1, batch(2)); out.Code != kafka.ErrKafkaStorageError {
		t.Fatalf("append after the disk failed: %s, want KAFKA_STORAGE_ERROR until a restart", out.Code)
	}
	if out, _ := r.fetch(anyEpoch(0)); out.Code != kafka.ErrKafkaStorageError {
		t.Fatalf("fetch after the disk failed: %s", out.Code)
	}
	if _, code := r.p.ListOffset(Latest, Uncommitted, -1); code != kafka.ErrKafkaStorageError {
		t.Fatalf("list offsets after the disk failed: %s", code)
	}
}

// LOG-12: appends fail while the disk is full; reads work; appends resume.
func TestFullDiskHoldsOnlyAppends(t *testing.T) {
	fsys := &faultyFS{FS: vfs.OS()}
	r := newRig(t, fsys, nil)
	r.lead(0)
	r.mustAppend(batch(1))
	full := error(syscall.ENOSPC)
	fsys.write.Store(&full)
	for range 2 {
		if out := r.append(1, batch(2)); out.Code != kafka.ErrKafkaStorageError {
			t.Fatalf("append on a full disk: %s", out.Code)
		}
	}
	if r.p.Offline() != nil {
		t.Fatal("a full disk took the directory offline")
	}
	if out, n := r.fetch(anyEpoch(0)); out.Code != kafka.None || n == 0 {
		t.Fatalf("fetch on a full disk: %s, %d bytes", out.Code, n)
	}
	fsys.write.Store(nil)
	r.clock.Advance(time.Second)
	if out := r.mustAppend(batch(2)); out.Base != 1 {
		t.Fatalf("base %d once there is space, want 1", out.Base)
	}
}

func TestFailedFlushAnswersStorageError(t *testing.T) {
	fsys := &faultyFS{FS: vfs.OS()}
	r := newRig(t, fsys, func(c *config.Topic) { c.FlushMessages = 1 })
	r.lead(0)
	out := r.mustAppend(batch(1))
	broken := error(syscall.EIO)
	fsys.sync.Store(&broken)
	var f flushed
	f.wg.Add(1)
	r.p.Await(out.Await, &f)
	f.wg.Wait()
	if f.errs[0] == nil || r.p.Offline() == nil {
		t.Fatalf("flush error %v, offline %v, want both", f.errs[0], r.p.Offline())
	}
	fsys.sync.Store(nil)
	r.expectHW(0)
	f.wg.Add(1)
	r.p.Await(out.Await, &f)
	f.wg.Wait()
	if f.errs[1] == nil {
		t.Fatal("a flush was repeated after one had failed")
	}
}

// woken counts what its waiter is finished with.
type woken struct{ n atomic.Int32 }

func (w *woken) Complete(*purgatory.Waiter, purgatory.Reason) { w.n.Add(1) }

func TestOfflineDirectoryWakesWaiters(t *testing.T) {
	r := newRig(t, vfs.OS(), nil)
	r.lead(0)
	w := new(woken)
	list := r.p.Waiters()
	out := r.purg.Park(new(purgatory.Waiter), []purgatory.Entry{{List: list, Seen: list.Progress()}}, 1, time.Hour, w)
	if out != purgatory.Parked {
		t.Fatalf("outcome %v", out)
	}
	r.p.Dir().Failed("test", syscall.EIO)
	r.purg.Close() // waits for the workers
	if w.n.Load() != 1 {
		t.Fatalf("finished %d times, want once", w.n.Load())
	}
}
