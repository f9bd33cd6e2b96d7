package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// Load brings the indexes into memory and finds the end of the data: what the
// index does not cover is found by walking headers. An index that is missing or
// wrong is built again. Data that does not end with a whole batch is ErrCorrupt:
// after a crash, Recover comes first.
//
// Cost when it is loaded: one lock, no system call.
func (s *Segment) Load() error {
	if s.loaded() {
		return nil
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loaded() {
		return nil
	}
	if s.size.Load() == 0 {
		s.mu.Lock()
		s.st = &state{offsetsSaved: -1, timesSaved: -1}
		s.mu.Unlock()
		return nil
	}
	h, err := s.acquire(false)
	if err != nil {
		return err
	}
	defer h.unref()
	st, err := s.readIndexes(s.size.Load())
	if err != nil {
		return err
	}
	if s.Gone() { // so they may be those of what took its place
		return ErrDeleted
	}
	if !s.trust(h, st) {
		s.dir.Files.metrics.indexesRebuilt.Add(1)
		s.dir.Log.Warn("index does not fit its data, building it again", "file", s.Path(Index))
		st = &state{offsetsSaved: -1, timesSaved: -1}
	}
	return s.finishLoad(h, st)
}

func (s *Segment) loaded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st != nil
}

// readIndexes reads both index files as far as they can be true.
func (s *Segment) readIndexes(size int64) (*state, error) {
	st := &state{offsetsSaved: -1, timesSaved: -1}
	b, err := s.readIndex(Index)
	if err != nil {
		return nil, err
	}
	if b != nil {
		st.offsets = offsetIndex(b).valid(size)
		st.offsetsSaved = savedBytes(b, len(st.offsets))
	}
	if b, err = s.readIndex(TimeIndex); err != nil {
		return nil, err
	}
	if b != nil {
		st.times = timeIndex(b).valid()
		st.timesSaved = savedBytes(b, len(st.times))
	}
	return st, nil
}

// savedBytes is -1, write it again, when a file holds more than its valid part.
func savedBytes(file []byte, valid int) int {
	if len(file) != valid {
		return -1
	}
	return valid
}

// readIndex reads an index file; nil if there is none or it is absurdly large.
func (s *Segment) readIndex(ext Ext) ([]byte, error) {
	b, err := vfs.ReadFile(s.dir.FS, s.Path(ext), indexBytesMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var path *fs.PathError
	if err != nil && errors.As(err, &path) {
		return nil, fmt.Errorf("read index: %w", err)
	}
	if err != nil {
		return nil, nil // too large: it is built again
	}
	return b, nil
}

// trust tells whether the last entries of the indexes name the batches that they
// point to.
func (s *Segment) trust(h *handle, st *state) bool {
	n := st.offsets.entries()
	if n == 0 { // all of it is walked anyway
		st.times, st.timesSaved = nil, -1
		return true
	}
	sc := s.dir.Files.scan(h.file, st.offsets.pos(n-1), s.size.Load())
	defer sc.close()
	head, err := sc.head()
	if err != nil || head == nil || s.rel(head.LastOffset()) != st.offsets.last(n-1) {
		return false
	}
	m := st.times.entries()
	if m == 0 {
		return st.timesSaved == 0
	}
	at := st.times.offset(m - 1)
	s.toEntry(&sc, st.offsets.floor(at), 0)
	head, err = sc.seek(s.base + kafka.Offset(at))
	return err == nil && head != nil && s.rel(head.LastOffset()) == at && head.MaxTimestamp() == st.times.timestamp(m-1)
}

// finishLoad walks the headers behind the last index entry and publishes st.
func (s *Segment) finishLoad(h *handle, st *state) error {
	next, ts, err := s.walk(h, st, s.size.Load())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sealed {
		if trusted := s.Next(); trusted != kafka.NoOffset && trusted != next {
			return corrupt(h.file.Name(), s.size.Load(), "data ends at offset %d, the snapshot says %d", next, trusted)
		}
		s.next.Store(int64(next))
	}
	st.pushGap(int64(next), s.next.Load(), s.size.Load())
	s.ts, s.st = ts, st
	return nil
}

// walk goes over the headers from st's last index entry to end, and adds what is
// missing to st.
func (s *Segment) walk(h *handle, st *state, end int64) (next kafka.Offset, ts stamps, err error) {
	pos := int64(0)
	if n := st.offsets.entries(); n > 0 {
		pos = st.offsets.pos(n - 1)
	}
	ts = noStamps(s.base)
	if n := st.times.entries(); n > 0 {
		ts.max, ts.maxAt = st.times.timestamp(n-1), st.times.offset(n-1)+int64(s.base)
	}
	sc := s.dir.Files.scan(h.file, pos, end)
	defer sc.close()
	next = s.base
	for {
		head, err := sc.head()
		if err != nil {
			return next, ts, err
		}
		if head == nil {
			return next, ts, nil
		}
		if err := s.follows(h, sc.pos, head, next); err != nil {
			return next, ts, err
		}
		st.index(s.base, &ts, head, sc.pos, sc.size, s.dir.IndexInterval.Load())
		if sc.pos > pos || pos == 0 { // what is before the first one was not looked at
			st.pushTail(mark{int64(next), int64(head.BaseOffset()), sc.pos})
		}
		next = head.NextOffset()
		sc.skip()
	}
}

// follows checks that a batch can come after offset next.
func (s *Segment) follows(h *handle, pos int64, head record.Batch, next kafka.Offset) error {
	if head.BaseOffset() < next || head.LastOffset() < head.BaseOffset() || head.LastOffset()-s.base > OffsetsMax {
		return corrupt(h.file.Name(), pos, "batch has offsets %d to %d, want them from %d on", head.BaseOffset(), head.LastOffset(), next)
	}
	return nil
}

// SetNext says where the segment that follows begins: offsets up to there are
// this one's, and nothing is appended to it any more.
func (s *Segment) SetNext(next kafka.Offset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
	if end := s.next.Load(); s.st != nil && end >= int64(s.base) {
		s.st.pushGap(end, int64(next), s.size.Load())
	}
	s.next.Store(int64(next))
}

// Seal writes the indexes with the final time entry. The segment stays as it is,
// also for appends, until SetNext.
func (s *Segment) Seal() error {
	if err := s.Load(); err != nil {
		return err
	}
	return s.SaveIndexes(true)
}

// FlushIndexes writes the indexes when enough entries wait.
func (s *Segment) FlushIndexes() error {
	s.mu.Lock()
	wait := s.st == nil || s.st.unsaved() < IndexFlushEntries
	s.mu.Unlock()
	if wait {
		return nil
	}
	return s.SaveIndexes(false)
}

// SaveIndexes writes what the index files lack. final adds the time entry that
// Kafka makes when a segment is closed. Nothing is done for a segment without
// data or one that was not loaded: its files are as they were.
func (s *Segment) SaveIndexes(final bool) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	s.mu.Lock()
	st := s.st
	if st == nil || s.size.Load() == 0 {
		s.mu.Unlock()
		return nil
	}
	if final {
		st.times = st.times.add(s.ts.max, s.ts.maxAt-int64(s.base))
	}
	offsets, times := st.offsets, st.times
	offsetsSaved, timesSaved := st.offsetsSaved, st.timesSaved
	if offsetsSaved == len(offsets) && timesSaved == len(times) {
		s.mu.Unlock()
		return nil
	}
	s.idxDirty = true
	s.mu.Unlock()
	if err := s.saveBoth(offsets, times, offsetsSaved, timesSaved); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.st == st { // not truncated meanwhile
		st.offsetsSaved, st.timesSaved = len(offsets), len(times)
	}
	return nil
}

// saveBoth writes the index files unless the segment was deleted: their names may
// be another segment's by then.
func (s *Segment) saveBoth(offsets offsetIndex, times timeIndex, offsetsSaved, timesSaved int) error {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.Gone() {
		return nil
	}
	if err := s.saveIndex(Index, offsets, offsetsSaved); err != nil {
		return err
	}
	return s.saveIndex(TimeIndex, times, timesSaved)
}

// saveIndex writes b behind its first saved bytes; -1 replaces the file.
func (s *Segment) saveIndex(ext Ext, b []byte, saved int) error {
	if saved == len(b) {
		return nil
	}
	flag := os.O_RDWR | os.O_CREATE
	if saved < 0 {
		flag, saved = flag|os.O_TRUNC, 0
	}
	f, err := s.dir.Files.openFile(s.dir.FS, s.Path(ext), flag)
	if err != nil {
		return err
	}
	if len(b) > saved {
		_, err = f.WriteAt(b[saved:], int64(saved))
	}
	return errors.Join(err, f.Close())
}
