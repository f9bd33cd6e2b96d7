package segment

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// WriteError says that an append failed. Undone tells whether the file is again
// as it was before; if not, nothing may be appended any more.
type WriteError struct {
	Err    error
	Undone bool
}

// Error implements error.
func (e *WriteError) Error() string {
	if e.Undone {
		return fmt.Sprintf("append, undone: %v", e.Err)
	}
	return fmt.Sprintf("append, not undone: %v", e.Err)
}

// Unwrap gives the disk's error.
func (e *WriteError) Unwrap() error { return e.Err }

// Append writes a batch, whose offsets are assigned, at the end. One caller at a
// time. An error of the write is a *WriteError.
//
// Hot: per batch. 0 allocs, 1 pwrite; index entries are kept in memory.
func (s *Segment) Append(b record.Batch, nowMS int64) error {
	pos, err := s.write(b)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.note(b, pos, nowMS)
	s.mu.Unlock()
	return nil
}

// AppendAll is Append of several batches, which lie one after the other in run.
//
// Hot: per answer that a follower gets. 0 allocs, 1 pwrite.
func (s *Segment) AppendAll(run []byte, nowMS int64) error {
	pos, err := s.write(run)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(run) > 0 {
		b, rest, err := record.Next(run)
		if err != nil {
			return fmt.Errorf("BUG: append of a run that is not one: %w", err)
		}
		s.note(b, pos, nowMS)
		pos, run = pos+int64(len(b)), rest
	}
	return nil
}

// write puts bytes at the end of the file, and tells where that is.
func (s *Segment) write(p []byte) (pos int64, err error) {
	if err := s.Load(); err != nil {
		return 0, err
	}
	h, err := s.acquire(true)
	if err != nil {
		return 0, &WriteError{Err: err, Undone: true}
	}
	defer h.unref()
	pos = s.size.Load()
	if _, err := h.file.WriteAt(p, pos); err != nil {
		return 0, undo(h, pos, err)
	}
	return pos, nil
}

// undo cuts off what a failed write left behind.
func undo(h *handle, pos int64, err error) error {
	if cut := h.file.Truncate(pos); cut != nil {
		return &WriteError{Err: fmt.Errorf("%w; then truncate %s to %d: %w", err, h.file.Name(), pos, cut)}
	}
	return &WriteError{Err: err, Undone: true}
}

// note takes a batch that is in the file into account. Caller holds mu.
func (s *Segment) note(b record.Batch, pos, nowMS int64) {
	st := s.st
	st.index(s.base, &s.ts, b, pos, int64(len(b)), s.dir.IndexInterval.Load())
	st.pushTail(mark{s.next.Load(), int64(b.BaseOffset()), pos})
	s.modified = nowMS
	s.size.Store(pos + int64(len(b)))
	s.next.Store(int64(b.NextOffset()))
}

// index keeps timestamps and the indexes, as Kafka's LogSegment.append does: an
// entry goes before a batch once more than interval bytes came since the last
// entry, keyed by that batch's last offset. Only b's header is looked at.
func (st *state) index(base kafka.Offset, ts *stamps, b record.Batch, pos, size, interval int64) {
	if pos == 0 {
		ts.first = b.MaxTimestamp()
	}
	if t := b.MaxTimestamp(); t > ts.max {
		ts.max, ts.maxAt = t, int64(b.LastOffset())
	}
	if st.sinceEntry > interval {
		st.offsets = st.offsets.add(int64(b.LastOffset()-base), pos)
		st.times = st.times.add(ts.max, ts.maxAt-int64(base))
		st.sinceEntry = 0
	}
	st.sinceEntry += size
}

// RollRules say when a segment is full.
type RollRules struct {
	Bytes, MS, IndexBytes int64 // MS: after jitter
}

// ShouldRoll tells whether a batch of size bytes, which ends at last, must go to
// a new segment, by the rules of Kafka's LogSegment.shouldRoll.
func (s *Segment) ShouldRoll(r RollRules, size int64, last kafka.Offset, maxTimestamp, nowMS int64) (bool, error) {
	have := s.size.Load()
	if s.rel(last) > int64(OffsetsMax) {
		return true, nil
	}
	if have == 0 {
		return false, nil
	}
	if have > r.Bytes-size || have+size > maxPosition {
		return true, nil
	}
	if err := s.Load(); err != nil {
		return false, err
	}
	if err := s.loadFirstTimestamp(); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	waited := nowMS - s.created
	if s.ts.first >= 0 {
		waited = maxTimestamp - s.ts.first
	}
	return waited > r.MS ||
		s.st.offsets.entries() >= offsetEntriesMax(r.IndexBytes) ||
		s.st.times.entries() >= timeEntriesMax(r.IndexBytes), nil
}

// maxPosition is the largest position that the index can hold.
const maxPosition = 1<<31 - 1

// loadFirstTimestamp reads the first batch's timestamp once.
func (s *Segment) loadFirstTimestamp() error {
	s.mu.Lock()
	known := s.ts.first != unknown
	s.mu.Unlock()
	if known || s.size.Load() == 0 {
		return nil
	}
	h, err := s.acquire(false)
	if err != nil {
		return err
	}
	defer h.unref()
	sc := s.dir.Files.scan(h.file, 0, s.size.Load())
	defer sc.close()
	head, err := sc.head()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.ts.first = head.MaxTimestamp()
	s.mu.Unlock()
	return nil
}

// FirstTimestamp is the first batch's timestamp in ms, -1 if there is no data.
func (s *Segment) FirstTimestamp() (int64, error) {
	if s.size.Load() == 0 {
		return -1, nil
	}
	if err := s.loadFirstTimestamp(); err != nil {
		return -1, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ts.first, nil
}

// Preallocate reserves space for n bytes without changing the file's size.
func (s *Segment) Preallocate(n int64) error {
	h, err := s.acquire(true)
	if err != nil {
		return err
	}
	defer h.unref()
	return h.file.Allocate(0, n)
}

// Make makes the .log file of a segment without data. Otherwise its first append
// does.
func (s *Segment) Make() error {
	h, err := s.acquire(true)
	if err != nil {
		return err
	}
	h.unref()
	s.CloseFile()
	return nil
}
