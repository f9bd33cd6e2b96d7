package segment

import (
	"errors"
	"fmt"
	"io"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

const (
	// recoverBytes is how much recovery reads at a time.
	recoverBytes = 1 << 20
	// batchBytesMax bounds the memory for one batch in recovery: a length beyond it
	// is damage. Kafka's max.message.bytes is an int32, real ones are some MiB.
	batchBytesMax = 1 << 30
)

// Recovered is what Recover found.
type Recovered struct {
	Next  kafka.Offset // offset after the last good batch
	Bytes int64        // bytes of good batches
	// Torn tells what follows them; nil if nothing does. It wraps ErrCorrupt and
	// names file and position.
	Torn error
}

// Recover reads the file from the batch that holds offset from, checks every
// batch's checksum and order, and builds the indexes for what is good. It stops
// at the first bad batch and changes no file: CutTorn and SaveIndexes do. visit
// gets every good batch before it is counted, and may end the data with ErrStop; progress the bytes read so far.
//
// Batches before from are trusted if the index on disk leads to them; otherwise
// all of the file is read.
func (s *Segment) Recover(from kafka.Offset, visit func(record.Batch) error, progress func(int64)) (Recovered, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	size := s.size.Load()
	s.mu.Lock()
	s.wasCut = true // for all that is known, nothing of it is durable
	s.mu.Unlock()
	if size == 0 {
		s.mu.Lock()
		s.st, s.ts = &state{offsetsSaved: -1, timesSaved: -1}, noStamps(s.base)
		s.next.Store(int64(s.base))
		s.mu.Unlock()
		return Recovered{Next: s.base}, nil
	}
	h, err := s.acquire(false)
	if err != nil {
		return Recovered{}, err
	}
	defer h.unref()
	st, pos := s.trustedPrefix(h, from, size)
	r := recovery{s: s, h: h, st: st, pos: pos, size: size, next: s.base, ts: noStamps(s.base)}
	if n := st.times.entries(); n > 0 {
		r.ts.max, r.ts.maxAt = st.times.timestamp(n-1), st.times.offset(n-1)+int64(s.base)
	}
	if err := r.run(visit, progress); err != nil {
		return Recovered{}, err
	}
	s.mu.Lock()
	s.st, s.ts = st, r.ts
	s.size.Store(r.pos)
	s.next.Store(int64(r.next))
	s.mu.Unlock()
	return Recovered{Next: r.next, Bytes: r.pos, Torn: r.torn}, nil
}

// trustedPrefix is the part of the indexes before the batch that holds from, and
// where that batch is, if the index leads to it.
func (s *Segment) trustedPrefix(h *handle, from kafka.Offset, size int64) (*state, int64) {
	none := &state{offsetsSaved: -1, timesSaved: -1}
	if from <= s.base {
		return none, 0
	}
	st, err := s.readIndexes(size)
	if err != nil {
		return none, 0
	}
	rel := s.rel(from)
	st.offsets, st.offsetsSaved = st.offsets.below(rel, size), -1
	n := st.offsets.entries()
	if n == 0 {
		return none, 0
	}
	st.times, st.timesSaved = st.times.below(st.offsets.last(n-1)+1), -1
	if st.times.entries() == 0 || !s.trust(h, st) {
		return none, 0
	}
	return st, st.offsets.pos(n - 1)
}

// recovery is the state of one Recover.
type recovery struct {
	s    *Segment
	h    *handle
	st   *state
	pos  int64 // end of the good batches
	size int64
	next kafka.Offset
	ts   stamps
	torn error
	buf  []byte
}

// run reads until the end or the first bad batch.
func (r *recovery) run(visit func(record.Batch) error, progress func(int64)) error {
	r.buf = make([]byte, min(recoverBytes, r.size-r.pos))
	at, n := r.pos, 0 // buf holds n bytes of the file from at on
	for r.pos < r.size {
		b, rest, err := record.Next(r.buf[r.pos-at : n])
		if errors.Is(err, record.ErrShort) && at+int64(n) < r.size {
			if at, n, err = r.fill(); err != nil || r.torn != nil {
				return err
			}
			continue
		}
		if err == nil {
			err = b.CheckCRC()
		}
		if err != nil {
			r.torn = corrupt(r.h.file.Name(), r.pos, "%v", err)
			return nil
		}
		if r.torn = r.s.follows(r.h, r.pos, b, r.next); r.torn != nil {
			return nil
		}
		if err := visit(b); errors.Is(err, ErrStop) {
			r.torn = corrupt(r.h.file.Name(), r.pos, "%v", err)
			return nil
		} else if err != nil {
			return err
		}
		r.take(b)
		if len(rest) == 0 && progress != nil {
			progress(r.pos)
		}
	}
	return nil
}

// take takes a good batch into account.
func (r *recovery) take(b record.Batch) {
	r.st.index(r.s.base, &r.ts, b, r.pos, int64(len(b)), r.s.dir.IndexInterval.Load())
	if r.next > r.s.base || r.pos == 0 {
		r.st.pushTail(mark{int64(r.next), int64(b.BaseOffset()), r.pos})
	}
	r.next = b.NextOffset()
	r.pos += int64(len(b))
}

// fill reads on from pos, at least the whole batch there. A batch that can't be
// whole is torn.
func (r *recovery) fill() (at int64, n int, err error) {
	want := min(int64(recoverBytes), r.size-r.pos)
	var head [record.LogOverhead]byte
	if _, err := r.h.file.ReadAt(head[:min(int64(len(head)), r.size-r.pos)], r.pos); err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, fmt.Errorf("read %s at %d: %w", r.h.file.Name(), r.pos, err)
	}
	batch, err := record.Size(head[:])
	switch {
	case err != nil:
		r.torn = corrupt(r.h.file.Name(), r.pos, "%v", err)
		return 0, 0, nil
	case int64(batch) > r.size-r.pos || batch > batchBytesMax:
		r.torn = corrupt(r.h.file.Name(), r.pos, "batch of %d bytes, %d are left", batch, r.size-r.pos)
		return 0, 0, nil
	}
	want = max(want, int64(batch))
	if int64(len(r.buf)) < want {
		r.buf = make([]byte, want)
	}
	n, err = r.h.file.ReadAt(r.buf[:want], r.pos)
	if int64(n) < want && err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, fmt.Errorf("read %s at %d: %w", r.h.file.Name(), r.pos, err)
	}
	if int64(n) < want {
		r.torn = corrupt(r.h.file.Name(), r.pos, "read %d bytes of %d", n, want)
	}
	return r.pos, n, nil
}
