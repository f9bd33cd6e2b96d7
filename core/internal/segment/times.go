package segment

import (
	"errors"
	"io"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// Stamp is a record's place in time.
type Stamp struct {
	Offset    kafka.Offset
	Timestamp int64 // ms
	Epoch     kafka.LeaderEpoch
}

// MaxTimestamp is the largest timestamp in ms, -1 if there is no data. For a
// sealed segment it is the last entry of its time index.
func (s *Segment) MaxTimestamp() (int64, error) {
	s.mu.Lock()
	ts := s.ts.max
	sealed := s.sealed
	s.mu.Unlock()
	if ts != unknown {
		return ts, nil
	}
	if sealed {
		if ts, ok := s.lastTimeEntry(); ok {
			s.mu.Lock()
			if s.ts.max == unknown {
				s.ts.max = ts
			}
			s.mu.Unlock()
			return ts, nil
		}
	}
	if err := s.Load(); err != nil {
		return -1, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ts.max, nil
}

// lastTimeEntry reads the end of the .timeindex only. Files that end in zeros
// were not closed by their writer and are not believed.
func (s *Segment) lastTimeEntry() (int64, bool) {
	f, err := s.dir.Files.openFile(s.dir.FS, s.Path(TimeIndex), 0)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil || size < timeEntryBytes || size%timeEntryBytes != 0 {
		return 0, false
	}
	var b [timeEntryBytes]byte
	if _, err := f.ReadAt(b[:], size-timeEntryBytes); err != nil && !errors.Is(err, io.EOF) {
		return 0, false
	}
	x := timeIndex(b[:])
	return x.timestamp(0), x.timestamp(0) > 0 && x.offset(0) >= 0 && x.offset(0) < s.rel(s.Next())
}

// FirstAt finds the first record at or after offset from whose timestamp is ts or
// later. Records need not be in the order of their times.
func (s *Segment) FirstAt(ts int64, from kafka.Offset, limits record.DecompressLimits) (Stamp, bool, error) {
	if err := s.Load(); err != nil {
		return Stamp{}, false, err
	}
	s.mu.Lock()
	st, largest := s.st, s.ts.max
	if st == nil || largest < ts {
		s.mu.Unlock()
		return Stamp{}, false, nil
	}
	at := max(st.times.before(ts), s.rel(from))
	e := st.offsets.floor(at)
	s.mu.Unlock()
	return s.search(e, from, limits, ts, func(h record.Batch) bool { return h.MaxTimestamp() >= ts })
}

// Latest finds the first record that has the segment's largest timestamp.
func (s *Segment) Latest(limits record.DecompressLimits) (Stamp, bool, error) {
	if err := s.Load(); err != nil {
		return Stamp{}, false, err
	}
	s.mu.Lock()
	st, ts := s.st, s.ts
	if st == nil || ts.max < 0 {
		s.mu.Unlock()
		return Stamp{}, false, nil
	}
	e := st.offsets.floor(ts.maxAt - int64(s.base))
	s.mu.Unlock()
	return s.search(e, s.base, limits, ts.max, func(h record.Batch) bool { return int64(h.LastOffset()) >= ts.maxAt })
}

// search walks headers from e on, and looks into the batches that may hold a
// record of ts or later.
func (s *Segment) search(e entry, from kafka.Offset, limits record.DecompressLimits, ts int64, may func(record.Batch) bool) (Stamp, bool, error) {
	h, err := s.acquire(false)
	if err != nil {
		return Stamp{}, false, err
	}
	defer h.unref()
	sc := s.dir.Files.scan(h.file, 0, s.size.Load())
	defer sc.close()
	s.toEntry(&sc, e, 0)
	for {
		head, err := sc.head()
		if err != nil || head == nil {
			return Stamp{}, false, err
		}
		if head.LastOffset() >= from && may(head) {
			b, err := sc.readBatch(nil)
			if err != nil {
				return Stamp{}, false, err
			}
			found, ok, err := firstIn(b, from, ts, limits)
			if ok || err != nil {
				return found, ok, err
			}
		}
		sc.skip()
	}
}

// firstIn finds the first record of a batch with ts or later.
func firstIn(b record.Batch, from kafka.Offset, ts int64, limits record.DecompressLimits) (Stamp, bool, error) {
	it := b.Records(limits)
	defer it.Close()
	for it.Next() {
		if r := it.Record(); r.Offset >= from && r.Timestamp >= ts {
			return Stamp{Offset: r.Offset, Timestamp: r.Timestamp, Epoch: b.LeaderEpoch()}, true, nil
		}
	}
	return Stamp{}, false, it.Err()
}

// Visit walks the batches from the one that holds from to the end. f gets the
// header only, valid during the call; body reads the whole batch.
func (s *Segment) Visit(from kafka.Offset, f func(head record.Batch, body func() (record.Batch, error)) error) error {
	if s.size.Load() == 0 {
		return nil
	}
	if err := s.Load(); err != nil {
		return err
	}
	h, err := s.acquire(false)
	if err != nil {
		return err
	}
	defer h.unref()
	s.mu.Lock()
	if s.st == nil { // evicted meanwhile: walk all of it
		s.mu.Unlock()
		return s.visit(h, entry{}, from, f)
	}
	e := s.st.offsets.floor(s.rel(from))
	s.mu.Unlock()
	return s.visit(h, e, from, f)
}

func (s *Segment) visit(h *handle, e entry, from kafka.Offset, f func(head record.Batch, body func() (record.Batch, error)) error) error {
	sc := s.dir.Files.scan(h.file, 0, s.size.Load())
	defer sc.close()
	s.toEntry(&sc, e, 0)
	body := func() (record.Batch, error) { return sc.readBatch(nil) }
	for {
		head, err := sc.seek(from)
		if err != nil || head == nil {
			return err
		}
		if err := f(head, body); err != nil {
			return err
		}
		sc.skip()
	}
}
