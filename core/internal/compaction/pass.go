package compaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/throttle"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// readBytesMin is the least that is read at a time.
const readBytesMin = 64 << 10

// limits bound a pass.
type limits struct {
	mapBytes  int64
	mapLoad   float64
	readBytes int
}

// pass compacts one log once.
type pass struct {
	ctx          context.Context
	log          *commitlog.Log
	topic        *config.Topic
	segments     *commitlog.Rewriter
	dirty, upper kafka.Offset
	nowMS        int64
	throttle     *throttle.Rate
	offsets      *offsetMap
	limits       limits
	stats        *stats
}

// stats count what a pass did.
type stats struct {
	read, written   int64 // bytes
	records, kept   int64
	segments, after int // segments replaced, and by how many
	mapEntries      int
}

// run compacts, and tells up to where the log was compacted.
func (p *pass) run() (kafka.Offset, error) {
	if p.log.RecoveryPoint() < p.upper { // what supersedes a record must be on the disk before that goes
		if _, err := p.log.Sync(); err != nil {
			return 0, err
		}
	}
	p.segments = p.log.Rewriter(p.limits.readBytes)
	if err := p.buildMap(); err != nil {
		return 0, err
	}
	end := p.offsets.latest + 1
	if end <= p.dirty {
		return 0, fmt.Errorf("%w: %d keys fit, a batch at offset %d has more", errMapTooSmall, p.offsets.most, p.dirty)
	}
	txns := newTransactions()
	for first := 0; first < p.segments.Segments(); {
		if p.segments.Segment(first).Base >= end {
			break
		}
		last := p.group(first, end)
		if last == first { // no data in it
			first++
			continue
		}
		if err := p.rewrite(first, last, txns); err != nil {
			return 0, err
		}
		first = last
	}
	return end, nil
}

// What ends the reading for the map.
var (
	errFull = errors.New("offset map is full")
	errEnd  = errors.New("end of the dirty part")
)

// buildMap puts the keys of the dirty part into the map, as many as fit.
func (p *pass) buildMap() error {
	p.offsets = newOffsetMap(p.limits.mapBytes, int64(p.upper-p.dirty), p.limits.mapLoad)
	p.offsets.latest = p.dirty - 1
	txns := newTransactions()
	aborted, err := p.log.AbortedTransactions(p.dirty, p.upper)
	if err != nil {
		return err
	}
	txns.add(aborted)
	for i := range p.segments.Segments() {
		s := p.segments.Segment(i)
		if s.Next <= p.dirty || s.Base >= p.upper {
			continue
		}
		err := p.segments.Batches(i, p.dirty, func(b record.Batch) error { return p.mapBatch(b, txns) })
		if errors.Is(err, errFull) {
			break
		}
		if err != nil && !errors.Is(err, errEnd) {
			return err
		}
		p.offsets.latest = max(p.offsets.latest, min(s.Next, p.upper)-1)
	}
	p.stats.mapEntries = p.offsets.used
	return nil
}

// mapBatch puts a batch's keys into the map.
func (p *pass) mapBatch(b record.Batch, txns *transactions) error {
	if b.BaseOffset() >= p.upper {
		return errEnd
	}
	if err := p.throttle.Wait(p.ctx, len(b)); err != nil {
		return err
	}
	p.stats.read += int64(len(b))
	discard, err := txns.discards(b)
	if err != nil {
		return err
	}
	if !discard && !b.Control() {
		it := b.Records(record.DecompressLimits{})
		defer it.Close()
		for it.Next() {
			r := it.Record()
			if r.Key != nil && r.Offset >= p.dirty && !p.offsets.put(r.Key, r.Offset) {
				return errFull
			}
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	p.offsets.latest = max(p.offsets.latest, b.LastOffset())
	return nil
}

// group is the end of the group of segments from first on that become one: together
// they are no larger than segment.bytes, and their offsets and index entries fit. The
// last one has data, because recovery knows by it how far the group reaches; first is
// returned when there is none.
func (p *pass) group(first int, end kafka.Offset) (last int) {
	base, bytes := p.segments.Segment(first).Base, int64(0)
	last = first
	for i := first; i < p.segments.Segments(); i++ {
		s := p.segments.Segment(i)
		if s.Base >= end {
			break
		}
		bytes += s.Bytes
		if i > first && (bytes > p.topic.SegmentBytes || p.indexBytes(bytes) > p.topic.SegmentIndexBytes || s.Next-base > kafka.Offset(offsetsMax)) {
			break
		}
		if s.Bytes > 0 {
			last = i + 1
		} else if last == first {
			break
		}
	}
	return last
}

// offsetsMax is how many offsets one segment may reach over.
const offsetsMax = 1<<31 - 1

// indexBytes is the most that the larger index of a segment of n bytes can have.
func (p *pass) indexBytes(n int64) int64 {
	const entryBytes = 12
	return (n/max(p.topic.IndexIntervalBytes, record.HeaderSize) + 1) * entryBytes
}
