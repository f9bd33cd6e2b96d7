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
	if s.size.Load() == 0 {
		return Stamp{}, false, nil
	}
	h, err := s.pin()
	if err != nil {
		return Stamp{}, false, err
	}
	defer h.unref()
	at := max(s.st.times.before(ts), s.rel(from))
	v := view{h, s.size.Load(), s.st.offsets.floor(at)}
	largest := s.ts.max
	s.mu.Unlock()
	if largest < ts {
		return Stamp{}, false, nil
	}
	return s.search(v, from, limits, ts, func(h record.Batch) bool { return h.MaxTimestamp() >= ts })
}

// Latest finds the first record that has the segment's largest timestamp.
func (s *Segment) Latest(limits record.DecompressLimits) (Stamp, bool, error) {
	if s.size.Load() == 0 {
		return Stamp{}, false, nil
	}
	h, err := s.pin()
	if err != nil {
		return Stamp{}, false, err
	}
	defer h.unref()
	ts := s.ts
	v := view{h, s.size.Load(), s.st.offsets.floor(ts.maxAt - int64(s.base))}
	s.mu.Unlock()
	if ts.max < 0 {
		return Stamp{}, false, nil
	}
	return s.search(v, s.base, limits, ts.max, func(h record.Batch) bool { return int64(h.LastOffset()) >= ts.maxAt })
}

// view is a segment's file at one moment, and the index entry to begin at.
type view struct {
	h    *handle
	size int64
	from entry
}

// scan is a scanner of the view, at its index entry.
func (s *Segment) scan(v view) scanner {
	sc := s.dir.Files.scan(v.h.file, 0, v.size)
	s.toEntry(&sc, v.from, 0)
	return sc
}

// search walks the headers of v, and looks into the batches that may hold a record
// of ts or later.
func (s *Segment) search(v view, from kafka.Offset, limits record.DecompressLimits, ts int64, may func(record.Batch) bool) (Stamp, bool, error) {
	sc := s.scan(v)
	defer sc.close()
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
	h, err := s.pin()
	if err != nil {
		return err
	}
	defer h.unref()
	v := view{h, s.size.Load(), s.st.offsets.floor(s.rel(from))}
	s.mu.Unlock()
	sc := s.scan(v)
	defer sc.close()
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
