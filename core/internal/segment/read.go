package segment

import (
	"github.com/mortisemq/mortise/core/kafka"
)

// Request says what Read is to find.
type Request struct {
	From     kafka.Offset // Base ≤ From < Next
	Upper    kafka.Offset // exclusive; From < Upper
	MaxBytes int64
	MinOne   bool // the first batch even if it is larger than MaxBytes
}

// Found is what Read found.
type Found struct {
	Range *Range // nil: nothing fits
	// Next is where to read on: the offset after the last batch, or a later one if
	// there is a gap behind it.
	Next     kafka.Offset
	TooLarge bool // the first batch is larger than MaxBytes
}

// Read finds whole batches from the one that holds From, and keeps the file for
// them.
//
// Hot: per fetched partition. 0 allocs. No pread when From is among the last
// tailMarks batches or where an earlier read ended, and Upper is the end; one pread
// where MaxBytes cuts; more only to walk between index entries.
func (s *Segment) Read(r Request) (Found, error) {
	h, err := s.pin()
	if err != nil {
		return Found{}, err
	}
	l := s.look(r)
	s.mu.Unlock()
	f, err := s.locate(h, &l, r)
	if f.Range == nil {
		h.unref()
	}
	return f, err
}

// lookup is what memory knows about a Request, at one moment.
type lookup struct {
	offsets         offsetIndex
	size            int64
	start, end, cut mark
	haveStart       bool
	haveEnd         bool
	haveCut         bool
}

// look asks memory. Caller holds mu.
func (s *Segment) look(r Request) (l lookup) {
	st := s.st
	l.offsets, l.size = st.offsets, s.size.Load()
	if next := s.next.Load(); int64(r.Upper) >= next {
		l.end, l.haveEnd = mark{next, next, l.size}, true
	} else {
		l.end, l.haveEnd = st.exact(int64(r.Upper))
	}
	l.start, l.haveStart = st.start(int64(r.From))
	if l.haveStart {
		l.cut, l.haveCut = st.cut(l.start.pos + r.MaxBytes)
	}
	return l
}

// locate finds the rest on disk and makes the range, which takes over h.
func (s *Segment) locate(h *handle, l *lookup, r Request) (Found, error) {
	sc := s.dir.Files.scan(h.file, 0, l.size)
	defer sc.close()
	if !l.haveStart {
		s.toEntry(&sc, l.offsets.floor(s.rel(r.From)), 0)
		head, err := sc.seek(r.From)
		if err != nil || head == nil {
			return Found{Next: r.From}, err
		}
		l.start = mark{int64(r.From), int64(head.BaseOffset()), sc.pos}
	}
	if !l.haveEnd {
		if err := s.findUpper(&sc, l, r.Upper); err != nil {
			return Found{}, err
		}
	}
	end := l.end
	if end.pos-l.start.pos > r.MaxBytes {
		var err error
		if end, err = s.findCut(&sc, l, l.start.pos+r.MaxBytes); err != nil {
			return Found{}, err
		}
	}
	f := Found{Next: kafka.Offset(end.prev)}
	if end.pos <= l.start.pos { // the first batch is too large, or there is none below Upper
		f.TooLarge, f.Next = l.end.pos > l.start.pos, r.From
		if !r.MinOne || !f.TooLarge {
			return f, nil
		}
		sc.pos = l.start.pos
		head, err := sc.head()
		if err != nil {
			return f, err
		}
		end = mark{int64(head.NextOffset()), int64(head.NextOffset()), sc.pos + sc.size}
		f.Next = head.NextOffset()
	}
	if !l.haveEnd || end.pos < l.size {
		s.remember(end)
	}
	f.Range = s.dir.Files.newRange(h, l.start.pos, end.pos-l.start.pos)
	return f, nil
}

// findUpper walks to the boundary before the batch that ends at or after upper.
func (s *Segment) findUpper(sc *scanner, l *lookup, upper kafka.Offset) error {
	s.toEntry(sc, l.offsets.floor(s.rel(upper)), l.start.pos)
	prev := kafka.NoOffset
	for {
		head, err := sc.head()
		if err != nil {
			return err
		}
		if head == nil || head.LastOffset() >= upper {
			l.end = mark{int64(upper), int64(upper), sc.pos}
			if head != nil {
				l.end.offset = int64(head.BaseOffset())
			}
			if l.end.prev = min(l.end.prev, l.end.offset); prev != kafka.NoOffset {
				l.end.prev = int64(prev)
			}
			return nil
		}
		prev = head.NextOffset()
		sc.skip()
	}
}

// findCut walks to the last batch boundary at or before limit, which lies inside
// of the data.
func (s *Segment) findCut(sc *scanner, l *lookup, limit int64) (mark, error) {
	if l.haveCut && l.cut.pos >= l.start.pos {
		return l.cut, nil
	}
	s.toEntry(sc, l.offsets.floorPos(limit), l.start.pos)
	prev := kafka.NoOffset
	for {
		head, err := sc.head()
		if err != nil {
			return mark{}, err
		}
		if head == nil { // never: limit is inside
			return l.end, nil
		}
		if sc.pos+sc.size > limit {
			at := mark{int64(prev), int64(head.BaseOffset()), sc.pos}
			if prev == kafka.NoOffset { // nobody looked at the batch before
				at.prev = at.offset
			}
			return at, nil
		}
		prev = head.NextOffset()
		sc.skip()
	}
}

// remember keeps where a read ended: the next one of the same reader begins there.
func (s *Segment) remember(m mark) {
	s.mu.Lock()
	if s.st != nil {
		s.st.pushHint(m)
	}
	s.mu.Unlock()
}
