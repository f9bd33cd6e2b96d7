package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// rewriteBytes is how much a Rewrite gathers before it writes.
const rewriteBytes = 256 << 10

// Rewrite is a segment that is written anew beside those that it will replace,
// under names that end in Cleaned. It belongs to one goroutine.
//
// The steps to take their place, each of which a crash may be the last of: Finish
// makes it durable, Swap renames it so that recovery would complete the rest, the
// caller moves what it replaces out of the way, Segment.Settle gives it its final
// names. The caller makes the folder durable between any two of them.
type Rewrite struct {
	dir  *Dir
	base kafka.Offset
	file vfs.File // nil once it is closed
	buf  []byte
	pos  int64 // bytes of the file and of buf
	next kafka.Offset
	st   *state
	ts   stamps
	txns bool
}

// kinds are the files of a segment, the data last: as long as it has its old name
// nothing has happened.
var kinds = [...]Ext{Index, TimeIndex, TxnIndex, Log}

// Rewrite begins a segment at base.
func (d *Dir) Rewrite(base kafka.Offset) (*Rewrite, error) {
	f, err := d.Files.openFile(d.FS, d.file(base, Log, Cleaned), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	return &Rewrite{
		dir: d, base: base, file: f, buf: make([]byte, 0, rewriteBytes), next: base,
		st: &state{}, ts: noStamps(base),
	}, nil
}

// Size is the bytes appended so far.
func (w *Rewrite) Size() int64 { return w.pos }

// Append adds a batch, which must begin at or after the end of the one before. The
// bytes are copied.
func (w *Rewrite) Append(b record.Batch) error {
	if b.BaseOffset() < w.next || b.LastOffset()-w.base > OffsetsMax || w.pos+int64(len(b)) > maxPosition {
		return fmt.Errorf("rewrite segment %d: batch from offset %d to %d of %d bytes does not fit behind offset %d, byte %d",
			w.base, b.BaseOffset(), b.LastOffset(), len(b), w.next, w.pos)
	}
	if len(w.buf)+len(b) > cap(w.buf) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.st.index(w.base, &w.ts, b, w.pos, int64(len(b)), w.dir.IndexInterval.Load())
	w.pos += int64(len(b))
	w.next = b.NextOffset()
	if len(b) > cap(w.buf) {
		_, err := w.file.WriteAt(b, w.pos-int64(len(b)))
		return err
	}
	w.buf = append(w.buf, b...)
	return nil
}

// flush writes what was gathered.
func (w *Rewrite) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.file.WriteAt(w.buf, w.pos-int64(len(w.buf)))
	w.buf = w.buf[:0]
	return err
}

// Finish writes the indexes and makes everything durable. With txnIndex there is a
// .txnindex even if aborted is empty: it has to take the place of an old one.
func (w *Rewrite) Finish(aborted []Aborted, txnIndex bool) error {
	if err := w.flush(); err != nil {
		return err
	}
	err := w.file.SyncData()
	if err = errors.Join(err, w.file.Close()); err != nil {
		w.file = nil
		return err
	}
	w.file = nil
	w.st.times = w.st.times.add(w.ts.max, w.ts.maxAt-int64(w.base))
	if err := w.write(Index, w.st.offsets); err != nil {
		return err
	}
	if err := w.write(TimeIndex, w.st.times); err != nil {
		return err
	}
	if w.txns = txnIndex; !txnIndex {
		return nil
	}
	var b []byte
	for _, a := range aborted {
		b = a.append(b)
	}
	return w.write(TxnIndex, b)
}

// write makes one of the small files.
func (w *Rewrite) write(ext Ext, b []byte) error {
	f, err := w.dir.Files.openFile(w.dir.FS, w.dir.file(w.base, ext, Cleaned), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	if len(b) > 0 {
		_, err = f.WriteAt(b, 0)
	}
	if err == nil {
		err = f.SyncData()
	}
	return errors.Join(err, f.Close())
}

// Swap renames the finished files to names that end in Swap, the data last: from
// then on recovery prefers them to what they replace. The segment that it gives can
// be read at once. next is where the segment after it begins; like is the last of
// those that it replaces, whose age it takes over.
func (w *Rewrite) Swap(next kafka.Offset, like *Segment) (*Segment, error) {
	for _, ext := range kinds {
		if ext == TxnIndex && !w.txns {
			continue
		}
		if err := w.dir.FS.Rename(w.dir.file(w.base, ext, Cleaned), w.dir.file(w.base, ext, Swap)); err != nil {
			return nil, fmt.Errorf("swap: %w", err)
		}
	}
	s := Existing(w.dir, w.base, next, w.pos, like.Modified(), w.txns)
	s.created = like.Created().UnixMilli()
	s.swapped.Store(true)
	s.SetNext(next)
	return s, nil
}

// Discard gives a Rewrite up that was not swapped, and removes its files. The data
// goes last: as long as it is there recovery completes none of the others.
func (w *Rewrite) Discard() error {
	if w.file != nil {
		_ = w.file.Close()
		w.file = nil
	}
	for _, mark := range []string{Swap, Cleaned} {
		for _, ext := range kinds {
			if err := w.dir.FS.Remove(w.dir.file(w.base, ext, mark)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("discard rewrite: %w", err)
			}
		}
	}
	return nil
}

// Swapped is a segment whose files recovery found under names that end in Swap. Its
// end is read from the data.
func Swapped(d *Dir, base kafka.Offset, size int64) *Segment {
	s := Existing(d, base, kafka.NoOffset, size, time.Time{}, false)
	s.swapped.Store(true)
	return s
}

// Settle gives a swapped segment its final names, the data last. What it replaced
// must be out of the way, durably. After an error it can't be used any more.
func (s *Segment) Settle() error {
	s.loading.Lock()
	defer s.loading.Unlock()
	s.opening.Lock()
	defer s.opening.Unlock()
	for _, ext := range kinds {
		err := s.dir.FS.Rename(s.dir.file(s.base, ext, Swap), s.dir.file(s.base, ext, ""))
		if err != nil && (ext == Log || !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("settle: %w", err)
		}
	}
	s.swapped.Store(false)
	return nil
}

// TxnIndex tells whether there is a .txnindex, even an empty one.
func (s *Segment) TxnIndex() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.txns != txnNone
}
