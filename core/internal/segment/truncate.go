package segment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// Truncate drops the batch that holds offset and all after it. The end may
// become less than offset when it lies inside a batch. Readers keep what they
// have: while there are any, the file is replaced by a copy of what stays. What was cut
// off does not come back after a power failure once the caller has made the folder's
// names durable, too. ErrNotCut: nothing has changed.
//
// Cost: a walk to the batch, an fdatasync; with readers a copy of what stays.
func (s *Segment) Truncate(offset kafka.Offset) error {
	if s.size.Load() == 0 {
		return nil
	}
	h, err := s.pin()
	if err != nil {
		return err
	}
	defer h.unref()
	v := view{h, s.size.Load(), s.st.offsets.floor(s.rel(offset))}
	end := s.Next()
	s.mu.Unlock()
	if offset >= end {
		return nil
	}
	sc := s.scan(v)
	head, err := sc.seek(offset)
	pos := sc.pos
	next := offset
	if head != nil {
		next = min(offset, head.BaseOffset())
	}
	sc.close()
	if err != nil {
		return err
	}
	return s.cutAt(h, pos, next)
}

// cutAt makes the data end at pos, and the indexes with it.
func (s *Segment) cutAt(h *handle, pos int64, next kafka.Offset) error {
	s.loading.Lock()
	err := s.cutLocked(h, pos, next)
	s.loading.Unlock()
	if err != nil {
		return err
	}
	// Entries beyond the cut must not be on disk when other batches come there.
	if err = s.SaveIndexes(false); vfs.IsNoSpace(err) {
		err = s.dropIndexes() // a full disk must not make a log unusable
	}
	return err
}

// dropIndexes removes index files that can't be written now. They are made again with the
// next write of the indexes, or from the data when the segment is loaded.
func (s *Segment) dropIndexes() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.Gone() {
		return nil
	}
	for _, ext := range []Ext{Index, TimeIndex} {
		if err := s.dir.FS.Remove(s.Path(ext)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// cutLocked is cutAt without the write of the indexes. Caller holds loading.
func (s *Segment) cutLocked(h *handle, pos int64, next kafka.Offset) error {
	s.mu.Lock()
	old := s.st
	s.mu.Unlock()
	st := &state{offsetsSaved: -1, timesSaved: -1}
	if old != nil {
		st.offsets = old.offsets.below(s.rel(next), pos)
		if n := st.offsets.entries(); n > 0 {
			st.times = old.times.below(st.offsets.last(n-1) + 1)
		}
	}
	end, ts, err := s.walk(h, st, pos)
	if err != nil {
		return err
	}
	next = min(next, end) // a gap before the cut goes too: a log ends where its data does
	if pos == 0 {
		ts = noStamps(s.base)
	}
	publish := func() { // under mu, with the file
		s.size.Store(pos)
		s.next.Store(int64(next))
		s.st, s.ts, s.sealed = st, ts, false
	}
	return s.cutFile(h, pos, publish)
}

// cutFile shortens the file in place if nobody reads it, else it replaces it.
func (s *Segment) cutFile(h *handle, pos int64, publish func()) error {
	s.mu.Lock()
	if s.handle.Load() == h && h.refs.Load() == 2 { // the cache and us
		err := h.file.Truncate(pos)
		if err == nil {
			publish()
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
		return h.file.SyncData()
	}
	s.mu.Unlock()
	tmp := s.Path(Log) + ".tmp" // not Cleaned: that may be a Rewrite's, and stops the completion of swaps
	if err := s.copyPrefix(h, tmp, pos); err != nil {
		err = fmt.Errorf("copy %s to %s: %w", s.Path(Log), tmp, err)
		if vfs.IsNoSpace(err) && s.dir.FS.Remove(tmp) == nil {
			err = fmt.Errorf("%w: %w", ErrNotCut, err)
		}
		return err
	}
	s.opening.Lock() // nobody opens the old file as if it were the new one
	defer s.opening.Unlock()
	if err := s.dir.FS.Rename(tmp, s.Path(Log)); err != nil {
		return err
	}
	s.mu.Lock()
	publish()
	old := s.handle.Swap(nil)
	s.mu.Unlock()
	if old != nil {
		s.dir.Files.forget(old)
	}
	return nil
}

// copyPrefix writes the first n bytes of h to a new file and makes them durable:
// they may have been before.
func (s *Segment) copyPrefix(h *handle, name string, n int64) (err error) {
	f, err := s.dir.Files.openFile(s.dir.FS, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buf := pooled(&s.dir.Files.copies, copyBytes)
	defer s.dir.Files.copies.Put(buf)
	for at := int64(0); at < n; {
		part := (*buf)[:min(n-at, copyBytes)]
		if got, err := h.file.ReadAt(part, at); got < len(part) {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if _, err := f.WriteAt(part, at); err != nil {
			return err
		}
		at += int64(len(part))
	}
	return f.SyncData()
}

// CutTorn shortens the file to what Recover found good.
func (s *Segment) CutTorn() error {
	h, err := s.acquire(false)
	if err != nil {
		return err
	}
	defer h.unref()
	s.mu.Lock()
	s.wasCut = true
	s.mu.Unlock()
	return h.file.Truncate(s.size.Load())
}
