package commitlog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// Rewriter reads the sealed segments of a log as they were at one moment, and
// replaces them. It is for one goroutine; the log may be used by others meanwhile.
type Rewriter struct {
	log  *Log
	list []*segment.Segment
	cuts uint64
	buf  []byte
}

// Rewriter begins a pass over the segments that are sealed now. Batches are read
// readBytes at a time.
func (l *Log) Rewriter(readBytes int) *Rewriter {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list()
	return &Rewriter{log: l, list: list[:len(list)-1], cuts: l.cuts, buf: make([]byte, 0, readBytes)}
}

// Truncations counts how often the end of the log went back since it was opened.
func (l *Log) Truncations() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cuts
}

// EarliestFrom is the smallest timestamp in ms with which a sealed segment that ends
// behind offset begins; ok is false when none has a timestamp above 0.
func (l *Log) EarliestFrom(offset kafka.Offset) (earliest int64, ok bool, err error) {
	err = l.lookup(func(list []*segment.Segment) error {
		ok = false
		for _, s := range list[:len(list)-1] {
			if s.Next() <= offset {
				continue
			}
			ts, err := s.FirstTimestamp()
			if err != nil {
				return err
			}
			if ts > 0 && (!ok || ts < earliest) {
				earliest, ok = ts, true
			}
		}
		return nil
	})
	return earliest, ok, err
}

// Segments is the number of sealed segments.
func (r *Rewriter) Segments() int { return len(r.list) }

// Segment describes one of them.
func (r *Rewriter) Segment(i int) SegmentInfo {
	s := r.list[i]
	return SegmentInfo{Base: s.Base(), Next: s.Next(), Bytes: s.Size(), LastModified: s.Modified(), Created: s.Created()}
}

// Batches gives f every batch of segment i from the one that holds offset from on,
// whole and with its checksum checked, also those below the log start. A batch is
// valid during the call. ErrChanged: the segment is not part of the log any more.
//
// Cost: one pread per readBytes; the memory is the Rewriter's.
func (r *Rewriter) Batches(i int, from kafka.Offset, f func(record.Batch) error) error {
	s := r.list[i]
	from = max(from, s.Base())
	for s.Size() > 0 && from < s.Next() {
		found, err := s.Read(segment.Request{From: from, Upper: s.Next(), MaxBytes: int64(cap(r.buf)), MinOne: true})
		if err != nil {
			return r.readFailed(err)
		}
		if found.Range == nil {
			return nil
		}
		r.buf, err = found.Range.ReadAll(r.buf[:0])
		found.Range.Release()
		if err != nil {
			return r.readFailed(err)
		}
		for rest := r.buf; len(rest) > 0; {
			var b record.Batch
			if b, rest, err = record.Next(rest); err == nil {
				err = b.CheckCRC()
			}
			if err != nil {
				return fmt.Errorf("%s: %w: %s behind offset %d: %w", r.log.tp, ErrCorrupt, s.Path(segment.Log), from, err)
			}
			from = b.NextOffset()
			if err := f(b); err != nil {
				return err
			}
		}
		from = max(from, found.Next)
	}
	return nil
}

// readFailed names what a read ran into.
func (r *Rewriter) readFailed(err error) error {
	if errors.Is(err, segment.ErrDeleted) {
		return fmt.Errorf("%s: %w", r.log.tp, ErrChanged)
	}
	return fmt.Errorf("%s: %w", r.log.tp, err)
}

// Replacement is one segment that is written to replace several.
type Replacement struct {
	log     *Log
	cuts    uint64
	sources []*segment.Segment
	out     *segment.Rewrite
}

// Replace begins a segment in the place of those from index first up to last,
// exclusive. The one who asks must Commit or Discard it.
func (r *Rewriter) Replace(first, last int) (*Replacement, error) {
	if err := r.log.usable(); err != nil {
		return nil, err
	}
	out, err := r.log.dir.Rewrite(r.list[first].Base())
	if err != nil {
		return nil, fmt.Errorf("%s: rewrite: %w", r.log.tp, err)
	}
	return &Replacement{log: r.log, cuts: r.cuts, sources: r.list[first:last], out: out}, nil
}

// Append adds a batch. Offsets must rise, and the last one must be the last offset
// of the sources: recovery knows by it how far the replacement reaches.
func (p *Replacement) Append(b record.Batch) error { return p.out.Append(b) }

// Size is the bytes appended so far.
func (p *Replacement) Size() int64 { return p.out.Size() }

// Discard gives the replacement up.
func (p *Replacement) Discard() error { return p.out.Discard() }

// Commit makes the replacement durable and puts it in the place of its sources, of
// which it has the aborted transactions that still count. After a crash there is
// either all of it or nothing. ErrChanged, and nothing happens, when the log was
// truncated or a source deleted meanwhile. Ranges of the sources that are in flight
// stay readable; their files go after FileDeleteDelayMS.
//
// Cost: three or four fdatasyncs of new files, three syncs of the folder, outside of
// the lock of appends.
func (p *Replacement) Commit(aborted []Aborted) error {
	hadAborted := slices.ContainsFunc(p.sources, (*segment.Segment).TxnIndex)
	if err := p.out.Finish(aborted, hadAborted); err != nil {
		return errors.Join(fmt.Errorf("%s: rewrite: %w", p.log.tp, err), p.out.Discard())
	}
	l := p.log
	l.ctl.Lock()
	defer l.ctl.Unlock()
	if err := p.current(); err != nil {
		return errors.Join(err, p.out.Discard())
	}
	last := p.sources[len(p.sources)-1]
	s, err := p.out.Swap(last.Next(), last)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", l.tp, err), p.out.Discard())
	}
	if err := p.take(s); err != nil { // what is on the disk is for recovery to say
		return l.fail(fmt.Errorf("replace segments: %w", err))
	}
	return nil
}

// current tells whether the sources are still what they were. Caller holds ctl, so
// that they stay so.
func (p *Replacement) current() error {
	l := p.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if l.cuts != p.cuts || p.at(l.list()) < 0 {
		return fmt.Errorf("%s: %w", l.tp, ErrChanged)
	}
	return nil
}

// at is where the sources begin in list, -1 if they are not all there.
func (p *Replacement) at(list []*segment.Segment) int {
	i := slices.Index(list, p.sources[0])
	if i < 0 || i+len(p.sources) >= len(list) || !slices.Equal(list[i:i+len(p.sources)], p.sources) {
		return -1
	}
	return i
}

// take puts s in the place of the sources, whose files are moved away between two
// syncs of the folder: at every step there is, after a crash, the old or the new.
// Caller holds ctl.
func (p *Replacement) take(s *segment.Segment) error {
	l := p.log
	if err := l.fs.SyncDir(l.dir.Path()); err != nil {
		return err
	}
	l.mu.Lock()
	list := l.list()
	i := p.at(list)
	l.publish(slices.Concat(list[:i], []*segment.Segment{s}, list[i+len(p.sources):]))
	l.mu.Unlock()
	var errs []error
	for _, old := range p.sources { // all of them, so that all are closed
		errs = append(errs, old.MarkDeleted())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := l.fs.SyncDir(l.dir.Path()); err != nil {
		return err
	}
	if err := s.Settle(); err != nil {
		return err
	}
	if err := l.fs.SyncDir(l.dir.Path()); err != nil { // before the name is used for another swap
		return err
	}
	p.forget()
	return nil
}

// forget removes what the sources leave behind: their files later, the producers'
// snapshots at their bases now.
func (p *Replacement) forget() {
	l := p.log
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, old := range p.sources {
		l.removeSegment(old, l.config.Load().FileDeleteDelayMS)
	}
	newest := kafka.NoOffset
	if n := len(l.snapshots); n > 0 {
		newest = l.snapshots[n-1]
	}
	l.dropSnapshots(func(at kafka.Offset) bool {
		return at != newest && slices.ContainsFunc(p.sources[1:], func(s *segment.Segment) bool { return s.Base() == at })
	})
	l.metrics.replaced.Add(uint64(len(p.sources)))
}
