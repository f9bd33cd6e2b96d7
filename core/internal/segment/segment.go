package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// Dir is what the segments of one log share.
type Dir struct {
	FS    vfs.FS
	Files *Files
	Log   *slog.Logger
	// IndexInterval is index.interval.bytes; it may change at any time.
	IndexInterval atomic.Int64

	path atomic.Pointer[string]
}

// NewDir is the folder path on fsys.
func NewDir(fsys vfs.FS, path string, files *Files, log *slog.Logger) *Dir {
	d := &Dir{FS: fsys, Files: files, Log: log}
	d.IndexInterval.Store(4096)
	d.path.Store(&path)
	return d
}

// Path is where the folder is now.
func (d *Dir) Path() string { return *d.path.Load() }

// Moved says that the folder was renamed. Open files are not affected.
func (d *Dir) Moved(path string) { d.path.Store(&path) }

// file is the path of a file in the folder.
func (d *Dir) file(base kafka.Offset, ext Ext, mark string) string {
	p := d.Path()
	b := make([]byte, 0, len(p)+1+offsetDigits+len(ext)+len(mark))
	b = append(append(b, p...), '/')
	b = appendName(b, base, ext)
	return string(append(b, mark...))
}

// unknown stands for a timestamp that was not read yet.
const unknown int64 = -2

// stamps are the timestamps that a segment remembers, in ms.
type stamps struct {
	max   int64 // the largest, -1 without data, unknown until read
	maxAt int64 // last offset of the first batch that has max
	first int64 // of the first batch, unknown until read
}

func noStamps(base kafka.Offset) stamps {
	return stamps{max: -1, maxAt: int64(base), first: unknown}
}

// Segment is one .log file with its indexes. Appends, truncation and sealing come
// from one goroutine at a time (the log's append lock); everything else is safe
// for concurrent use. A segment without data has no files.
type Segment struct {
	dir  *Dir
	base kafka.Offset

	size atomic.Int64 // bytes of whole batches in the file; written under mu
	next atomic.Int64 // offset after the last batch; written under mu

	swapped atomic.Bool // the files' names end in Swap; written under loading and opening

	handle  atomic.Pointer[handle]
	opening sync.Mutex // one open at a time
	loading sync.Mutex // one load at a time

	mu       sync.Mutex
	st       *state // nil until something is looked up or appended; guarded by mu
	ts       stamps // guarded by mu
	created  int64  // ms; guarded by mu
	modified int64  // ms; guarded by mu
	aborted  []Aborted
	txns     txnState // guarded by mu, like aborted
	txnDirty bool     // the .txnindex was written since the last Sync; guarded by mu
	wasCut   bool     // recovery may have shortened the file since the last Sync; guarded by mu
	idxDirty bool     // the index files were written since the last Sync; guarded by mu
	sealed   bool     // guarded by mu
	deleted  bool     // or closed: its files are not opened any more; guarded by mu
}

// txnState tells what is known of the .txnindex.
type txnState uint8

const (
	txnNone   txnState = iota // there is no file
	txnOnDisk                 // there is one that was not read yet
	txnLoaded                 // aborted has its content
)

// New makes a segment without data.
func New(d *Dir, base kafka.Offset, nowMS int64) *Segment {
	s := &Segment{dir: d, base: base, ts: noStamps(base), created: nowMS, modified: nowMS}
	s.next.Store(int64(base))
	return s
}

// Existing is a segment whose .log file has size bytes. next is the offset after
// its last batch, NoOffset when it is not known: Load finds it.
func Existing(d *Dir, base, next kafka.Offset, size int64, modified time.Time, txnIndex bool) *Segment {
	ms := modified.UnixMilli()
	s := &Segment{dir: d, base: base, ts: stamps{max: unknown, first: unknown}, created: ms, modified: ms}
	if size == 0 {
		s.ts, next = noStamps(base), base
	}
	if txnIndex {
		s.txns = txnOnDisk
	}
	s.size.Store(size)
	s.next.Store(int64(next))
	return s
}

// Base is the offset that names the segment.
func (s *Segment) Base() kafka.Offset { return s.base }

// Next is the offset after the last batch.
func (s *Segment) Next() kafka.Offset { return kafka.Offset(s.next.Load()) }

// Size is the bytes of the .log file.
func (s *Segment) Size() int64 { return s.size.Load() }

// Modified is when the last batch was appended, by the broker's clock.
func (s *Segment) Modified() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.UnixMilli(s.modified)
}

// Created is when the segment was begun, or last written if that was before this
// process began.
func (s *Segment) Created() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.UnixMilli(s.created)
}

// Path is the name of one of its files.
func (s *Segment) Path(ext Ext) string { return s.dir.file(s.base, ext, s.mark()) }

// mark is what the names of the files end in: nothing, unless the segment is about
// to take the place of others.
func (s *Segment) mark() string {
	if s.swapped.Load() {
		return Swap
	}
	return ""
}

// acquire opens the .log file or takes the open one. create makes the file.
func (s *Segment) acquire(create bool) (*handle, error) {
	if h := s.handle.Load(); h != nil && h.ref() {
		if !h.used.Load() {
			h.used.Store(true)
		}
		return h, nil
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if h := s.handle.Load(); h != nil && h.ref() {
		return h, nil
	}
	if s.Gone() { // the name may be another segment's by now
		return nil, ErrDeleted
	}
	flag := os.O_RDWR
	if create {
		flag |= os.O_CREATE
	}
	f, err := s.dir.Files.openFile(s.dir.FS, s.Path(Log), flag)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && s.Gone() {
			return nil, ErrDeleted
		}
		return nil, err
	}
	return s.dir.Files.add(s, f), nil
}

// pin loads the segment and opens its file, and returns with mu held: what the
// caller copies before it unlocks belongs to the file that it got. A truncation
// that comes later replaces the file. The segment must have data.
func (s *Segment) pin() (*handle, error) {
	for {
		if err := s.Load(); err != nil {
			return nil, err
		}
		h, err := s.acquire(false)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		if s.st != nil && s.handle.Load() == h {
			return h, nil
		}
		gone := s.deleted
		s.mu.Unlock()
		h.unref()
		if gone { // else evicted or replaced since
			return nil, ErrDeleted
		}
	}
}

// Gone tells whether the segment was deleted or closed.
func (s *Segment) Gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deleted
}

// evicted is told by the cache that it dropped the file. A sealed segment that
// nobody reads drops its index from memory too.
func (s *Segment) evicted(h *handle) {
	s.handle.CompareAndSwap(h, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed && s.st != nil && s.st.saved() {
		s.st = nil
	}
}

// CloseFile gives the open file back to the system once its readers are done.
func (s *Segment) CloseFile() {
	if h := s.handle.Load(); h != nil {
		s.dir.Files.forget(h)
	}
}

// Close ends the use of the segment: who is late finds ErrDeleted, and opens no
// file that nobody would ever close. Ranges in flight are not disturbed.
func (s *Segment) Close() {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	s.deleted = true
	s.mu.Unlock()
	s.CloseFile()
}

// MarkDeleted renames the files so that Remove can be called later, and closes
// the segment for new readers. Ranges in flight are not disturbed.
func (s *Segment) MarkDeleted() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	s.deleted = true
	s.mu.Unlock()
	var errs []error
	for _, ext := range []Ext{Log, Index, TimeIndex, TxnIndex} {
		err := s.dir.FS.Rename(s.Path(ext), s.dir.file(s.base, ext, Deleted))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("mark %s for deletion: %w", s.Path(ext), err))
		}
	}
	s.CloseFile()
	return errors.Join(errs...)
}

// RemoveMarked removes the files that MarkDeleted renamed.
func (s *Segment) RemoveMarked() error { return s.remove(Deleted) }

// Remove removes the files at once.
func (s *Segment) Remove() error {
	s.Close()
	return s.remove("")
}

func (s *Segment) remove(mark string) error {
	var errs []error
	for _, ext := range []Ext{Log, Index, TimeIndex, TxnIndex} {
		err := s.dir.FS.Remove(s.dir.file(s.base, ext, mark))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
