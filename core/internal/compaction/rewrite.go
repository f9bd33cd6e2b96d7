package compaction

import (
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// rewriting copies one group of segments.
type rewriting struct {
	*pass
	txns      *transactions
	producers map[kafka.ProducerID]commitlog.ProducerInfo
	filter    record.Filter
	out       *commitlog.Replacement
	changed   bool
	// left is the header of the last batch if it was left out.
	left record.Batch
}

// rewrite replaces the segments from index first up to last by one with what stays of
// them. A single segment of which all stays is left as it is.
func (p *pass) rewrite(first, last int, txns *transactions) error {
	out, err := p.segments.Replace(first, last)
	if err != nil {
		return err
	}
	w := &rewriting{pass: p, txns: txns, out: out, changed: last-first > 1, producers: map[kafka.ProducerID]commitlog.ProducerInfo{}}
	w.filter = record.Filter{Compression: p.topic.Compression, Level: p.topic.CompressionLevel()}
	for _, info := range p.log.Producers() {
		w.producers[info.ProducerID] = info
	}
	if err := w.copy(first, last); err != nil {
		_ = out.Discard() // what stays is removed by the next pass or the next start
		return err
	}
	aborted := txns.takeIndex()
	if !w.changed {
		return out.Discard()
	}
	p.stats.segments, p.stats.after = p.stats.segments+last-first, p.stats.after+1
	return out.Commit(aborted)
}

// copy copies what stays.
func (w *rewriting) copy(first, last int) error {
	for i := first; i < last; i++ {
		s := w.segments.Segment(i)
		aborted, err := w.log.AbortedTransactions(s.Base, s.Next)
		if err != nil {
			return err
		}
		w.txns.add(aborted)
		if err := w.segments.Batches(i, s.Base, w.batch); err != nil {
			return err
		}
	}
	if len(w.left) == 0 {
		return nil
	}
	w.changed = w.changed || w.left.Count() > 0
	return w.write(record.EmptyBatch(w.left)) // the group's last offset must be there
}

// batch copies what stays of one batch.
func (w *rewriting) batch(b record.Batch) error {
	if err := w.throttle.Wait(w.ctx, len(b)); err != nil {
		return err
	}
	w.stats.read += int64(len(b))
	w.stats.records += int64(b.Count())
	kept, err := w.retain(b)
	if err != nil {
		return err
	}
	w.changed = w.changed || len(w.left) > 0 // it was not the last one
	if kept == nil {
		w.left = append(w.left[:0], b[:record.HeaderSize]...)
		return nil
	}
	w.left = w.left[:0]
	w.changed = w.changed || &kept[0] != &b[0]
	w.stats.kept += int64(kept.Count())
	return w.write(kept)
}

// write adds a batch to the new segment.
func (w *rewriting) write(b record.Batch) error {
	if err := w.throttle.Wait(w.ctx, len(b)); err != nil {
		return err
	}
	w.stats.written += int64(len(b))
	return w.out.Append(b)
}

// retain is what stays of a batch, nil if nothing does.
func (w *rewriting) retain(b record.Batch) (record.Batch, error) {
	noData, err := w.txns.discards(b)
	if err != nil {
		return nil, err
	}
	discard := noData
	if b.Control() {
		discard = noData && b.HasDeleteHorizon() && b.DeleteHorizon() <= w.nowMS
	}
	var f record.Filtered
	if !discard {
		f, err = w.filter.Apply(b, w.nowMS+w.topic.DeleteRetentionMS, noData && b.Control(), func(r *record.Record) bool { return b.Control() || w.stays(b, r) })
		if err != nil {
			return nil, err
		}
	}
	if f.Batch != nil {
		return f.Batch, nil
	}
	if !w.keepsEmpty(b) {
		return nil, nil
	}
	if b.Count() == 0 {
		return b, nil // emptied before
	}
	return record.EmptyBatch(b), nil
}

// stays tells whether a record is the last of its key, and no tombstone whose time has
// come.
func (w *rewriting) stays(b record.Batch, r *record.Record) bool {
	if r.Offset > w.offsets.latest {
		return true
	}
	if r.Key == nil { // of a time when the topic was not compacted
		return false
	}
	if r.Offset < w.offsets.get(r.Key) {
		return false
	}
	return r.Value != nil || !b.HasDeleteHorizon() || w.nowMS < b.DeleteHorizon()
}

// keepsEmpty tells whether a batch stays without its records: it tells the last
// sequence number or epoch of a producer, or the last offset of the pass.
func (w *rewriting) keepsEmpty(b record.Batch) bool {
	if b.NextOffset() == w.upper {
		return true
	}
	info, known := w.producers[b.ProducerID()]
	if !known || b.ProducerID() < 0 {
		return false
	}
	if info.LastOffset != kafka.NoOffset {
		return b.LastOffset() == info.LastOffset
	}
	return b.Control() && b.ProducerEpoch() == info.ProducerEpoch
}
