package segment

import (
	"encoding/binary"
	"sort"

	"github.com/mortisemq/mortise/core/kafka"
)

const (
	// offsetEntryBytes: relative offset int32, position int32.
	offsetEntryBytes = 8
	// timeEntryBytes: timestamp int64, relative offset int32.
	timeEntryBytes = 12
	// indexBytesMax bounds what is read of an index file: positions are int32, so
	// an honest index of the smallest interval stays far below it.
	indexBytesMax = 256 << 20
	// IndexFlushEntries is how many new index entries wait in memory before Flush
	// writes them.
	IndexFlushEntries = 512
)

// offsetIndex is the content of a .index file: for some batches their last offset,
// relative to the segment's base, and their position. Entries below len never
// change, so that a reader may keep a copy of the slice's header.
type offsetIndex []byte

func (x offsetIndex) entries() int { return len(x) / offsetEntryBytes }
func (x offsetIndex) last(i int) int64 {
	return int64(int32(binary.BigEndian.Uint32(x[i*offsetEntryBytes:])))
}
func (x offsetIndex) pos(i int) int64 {
	return int64(int32(binary.BigEndian.Uint32(x[i*offsetEntryBytes+4:])))
}

func (x offsetIndex) add(last, pos int64) offsetIndex {
	x = binary.BigEndian.AppendUint32(x, uint32(last))
	return binary.BigEndian.AppendUint32(x, uint32(pos))
}

// entry is one entry of the index; pos is 0 and ok false for "none", which stands
// for the beginning of the file.
type entry struct {
	last, pos int64
	ok        bool
}

// at is entry i, none for -1.
func (x offsetIndex) at(i int) entry {
	if i < 0 {
		return entry{}
	}
	return entry{x.last(i), x.pos(i), true}
}

// floor is the last entry whose last offset is ≤ rel: the batch that holds rel is
// there or further on.
func (x offsetIndex) floor(rel int64) entry {
	return x.at(sort.Search(x.entries(), func(i int) bool { return x.last(i) > rel }) - 1)
}

// floorPos is the last entry with a position ≤ pos.
func (x offsetIndex) floorPos(pos int64) entry {
	return x.at(sort.Search(x.entries(), func(i int) bool { return x.pos(i) > pos }) - 1)
}

// valid cuts the index before the first entry that can't be true of a file of
// size bytes: offsets and positions rise, and stay inside. Kafka's preallocated
// files end in zeros, which are such entries.
func (x offsetIndex) valid(size int64) offsetIndex {
	last, pos := int64(-1), int64(-1)
	for i := range x.entries() {
		if x.last(i) <= last || x.pos(i) <= pos || x.pos(i) >= size {
			return x[: i*offsetEntryBytes : i*offsetEntryBytes]
		}
		last, pos = x.last(i), x.pos(i)
	}
	n := x.entries() * offsetEntryBytes
	return x[:n:n]
}

// timeIndex is the content of a .timeindex file: the largest timestamp so far,
// and the last offset of the first batch that has it.
type timeIndex []byte

func (x timeIndex) entries() int { return len(x) / timeEntryBytes }
func (x timeIndex) timestamp(i int) int64 {
	return int64(binary.BigEndian.Uint64(x[i*timeEntryBytes:]))
}
func (x timeIndex) offset(i int) int64 {
	return int64(int32(binary.BigEndian.Uint32(x[i*timeEntryBytes+8:])))
}

// add appends an entry if its timestamp is larger than the last one's.
func (x timeIndex) add(timestamp, rel int64) timeIndex {
	if timestamp <= x.max() {
		return x
	}
	x = binary.BigEndian.AppendUint64(x, uint64(timestamp))
	return binary.BigEndian.AppendUint32(x, uint32(rel))
}

// max is the last entry's timestamp, -1 if there is none.
func (x timeIndex) max() int64 {
	if n := x.entries(); n > 0 {
		return x.timestamp(n - 1)
	}
	return -1
}

// before is the offset of the last entry with a timestamp below ts, 0 if there is
// none: no record before it has ts or a later time.
func (x timeIndex) before(ts int64) int64 {
	i := sort.Search(x.entries(), func(i int) bool { return x.timestamp(i) >= ts })
	if i == 0 {
		return 0
	}
	return x.offset(i - 1)
}

// valid cuts the index before the first entry that can't be true.
func (x timeIndex) valid() timeIndex {
	ts, off := int64(-1), int64(-1)
	for i := range x.entries() {
		if x.timestamp(i) <= ts || x.offset(i) <= off {
			return x[: i*timeEntryBytes : i*timeEntryBytes]
		}
		ts, off = x.timestamp(i), x.offset(i)
	}
	n := x.entries() * timeEntryBytes
	return x[:n:n]
}

// below cuts the entries with offsets at or after rel.
func (x timeIndex) below(rel int64) timeIndex {
	i := sort.Search(x.entries(), func(i int) bool { return x.offset(i) >= rel })
	return append(timeIndex(nil), x[:i*timeEntryBytes]...)
}

// below cuts the entries with offsets at or after rel, or positions at or after
// pos.
func (x offsetIndex) below(rel, pos int64) offsetIndex {
	i := sort.Search(x.entries(), func(i int) bool { return x.last(i) >= rel || x.pos(i) >= pos })
	return append(offsetIndex(nil), x[:i*offsetEntryBytes]...)
}

// tailMarks is how many of the last batches are remembered, hintMarks how many
// places where reads ended.
const (
	tailMarks = 32
	hintMarks = 4
)

// mark is a batch boundary at pos: what is before it ends at prev, the batch
// behind it begins at offset. They differ where offsets have a gap.
type mark struct{ prev, offset, pos int64 }

// state is what is in memory of a segment that is in use. Guarded by Segment.mu.
type state struct {
	offsets offsetIndex
	times   timeIndex
	// How many bytes of each are in their files, and whether the files may hold
	// more than that. -1: there is no file.
	offsetsSaved, timesSaved int
	sinceEntry               int64 // bytes since the last index entry

	tail  [tailMarks]mark // a ring of the last batches
	tails int             // batches put into tail so far
	hints [hintMarks]mark
	hint  int
}

// saved tells whether the index files hold everything.
func (st *state) saved() bool {
	return st.offsetsSaved == len(st.offsets) && st.timesSaved == len(st.times)
}

// unsaved is the number of index entries that wait.
func (st *state) unsaved() int {
	return (len(st.offsets) - max(st.offsetsSaved, 0)) / offsetEntryBytes
}

// pushTail remembers a batch that was appended.
func (st *state) pushTail(m mark) {
	st.tail[st.tails%tailMarks] = m
	st.tails++
}

// pushGap remembers that there is no data from offset end, at pos, up to next, so
// that a read in between goes on behind it.
func (st *state) pushGap(end, next, pos int64) {
	if end < next {
		st.pushTail(mark{end, next, pos})
	}
}

// pushHint remembers where a read ended.
func (st *state) pushHint(m mark) {
	st.hints[st.hint%hintMarks] = m
	st.hint++
}

// start is where to read from to get offset, if memory knows.
func (st *state) start(offset int64) (mark, bool) {
	for i := st.tails - 1; i >= max(0, st.tails-tailMarks); i-- {
		if m := st.tail[i%tailMarks]; m.prev <= offset {
			return m, true
		}
	}
	for _, m := range st.hints[:min(st.hint, hintMarks)] {
		if m.prev <= offset && offset <= m.offset {
			return m, true
		}
	}
	return mark{}, false
}

// exact is the boundary at which offset begins, if memory knows.
func (st *state) exact(offset int64) (mark, bool) {
	m, ok := st.start(offset)
	return m, ok && offset <= m.offset
}

// cut is the last batch boundary at or before pos, if memory knows.
func (st *state) cut(pos int64) (mark, bool) {
	for i := st.tails - 1; i >= max(0, st.tails-tailMarks); i-- {
		if m := st.tail[i%tailMarks]; m.pos <= pos {
			return m, true
		}
	}
	return mark{}, false
}

// offsetEntriesMax is what a .index of bytes may hold, as Kafka counts it.
func offsetEntriesMax(bytes int64) int { return int(bytes / offsetEntryBytes) }

// timeEntriesMax keeps one entry free for the one that is added when the segment
// is sealed.
func timeEntriesMax(bytes int64) int { return int(bytes/timeEntryBytes) - 1 }

// rel is an offset relative to the base.
func (s *Segment) rel(offset kafka.Offset) int64 { return int64(offset - s.base) }
