package commitlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// verify opens what a crash left and says what is wrong with it; p is what was
// promised.
func (p *promise) verify(o commitlog.Options) error {
	l, err := commitlog.Open(context.Background(), o)
	if err != nil {
		return fmt.Errorf("open with recovery point %d: %w", o.RecoveryPoint, err)
	}
	all, err := walk(l)
	if err != nil {
		return fmt.Errorf("walk: %w", err)
	}
	err = errors.Join(p.covers(l.StartOffset(), all), p.consistent(l, all), writable(l, o.Clock, all))
	if err != nil {
		return fmt.Errorf("log [%d, %d) holds %s; promised [%d, %d) of %s: %w",
			l.StartOffset(), l.EndOffset(), describe(all), p.from, p.to, describe(p.current), err)
	}
	after, err := walk(l)
	if err != nil {
		return fmt.Errorf("walk after an append: %w", err)
	}
	if err := l.Close(true); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	o.Clean, o.StartOffset, o.RecoveryPoint = true, l.StartOffset(), l.RecoveryPoint()
	return reopens(o, after)
}

// reopens checks that a clean stop and start change nothing.
func reopens(o commitlog.Options, want []record.Batch) error {
	l, err := commitlog.Open(context.Background(), o)
	if err != nil {
		return fmt.Errorf("open after a clean stop: %w", err)
	}
	got, err := walk(l)
	if err != nil {
		return fmt.Errorf("walk after a clean stop: %w", err)
	}
	if !same(got, want) {
		return fmt.Errorf("after a clean stop %s, before it %s", describe(got), describe(want))
	}
	return l.Close(true)
}

// covers checks that the log holds what was promised and nothing that was never
// written.
func (p *promise) covers(start kafka.Offset, got []record.Batch) error {
	if start > max(p.from, 0) {
		return fmt.Errorf("starts at %d, promised from %d", start, p.from)
	}
	byBase := map[kafka.Offset]record.Batch{}
	for i, b := range got {
		byBase[b.BaseOffset()] = b
		if i > 0 && b.BaseOffset() != got[i-1].NextOffset() {
			return fmt.Errorf("hole: batch at %d follows offset %d", b.BaseOffset(), got[i-1].LastOffset())
		}
		if i > 0 && b.LeaderEpoch() < got[i-1].LeaderEpoch() {
			return fmt.Errorf("epoch goes back to %d at %d", b.LeaderEpoch(), b.BaseOffset())
		}
		known := func(w record.Batch) bool { return bytes.Equal(w, b) }
		if !slices.ContainsFunc(p.written[b.BaseOffset()], known) {
			return fmt.Errorf("batch at %d was never written", b.BaseOffset())
		}
	}
	for _, want := range p.current {
		if want.LastOffset() < p.from || want.LastOffset() >= p.to {
			continue
		}
		if !bytes.Equal(byBase[want.BaseOffset()], want) {
			return fmt.Errorf("acknowledged batch at %d is lost", want.BaseOffset())
		}
	}
	return nil
}

// consistent checks that lookups by offset, time and epoch agree with the data.
// Epochs below a start that the owner has not written down may be gone.
func (p *promise) consistent(l *commitlog.Log, all []record.Batch) error {
	for i, b := range all {
		at := max(b.LastOffset(), l.StartOffset())
		got, _, err := readAt(l, at, 1)
		if err != nil {
			return fmt.Errorf("read at %d: %w", at, err)
		}
		if !same(got, all[i:i+1]) {
			return fmt.Errorf("read at %d gave %s", at, describe(got))
		}
		if e := l.EpochOf(at); e != b.LeaderEpoch() && at >= p.from {
			return fmt.Errorf("epoch of %d is %d, its batch says %d", at, e, b.LeaderEpoch())
		}
		found, ok, err := l.OffsetForTimestamp(b.MaxTimestamp(), l.EndOffset())
		if err != nil || !ok || found.Offset != b.LastOffset() || found.Timestamp != b.MaxTimestamp() {
			return fmt.Errorf("timestamp %d is at %+v (%v, %v), want offset %d", b.MaxTimestamp(), found, ok, err, b.LastOffset())
		}
		next := l.EndOffset()
		if i+1 < len(all) {
			next = all[i+1].BaseOffset()
		}
		if at >= p.from && (i+1 == len(all) || all[i+1].LeaderEpoch() != b.LeaderEpoch()) {
			if err := epochEnds(l, b, next, i+1 == len(all)); err != nil {
				return err
			}
		}
	}
	return nil
}

// epochEnds checks EpochEnd for the epoch whose last batch is b; next is the offset
// of the batch after it. Between them there may be a gap, and an epoch without data.
func epochEnds(l *commitlog.Log, b record.Batch, next kafka.Offset, last bool) error {
	epoch := b.LeaderEpoch()
	e, end := l.EpochEnd(epoch)
	if e != epoch || end < b.NextOffset() || end > next {
		return fmt.Errorf("epoch %d ends at %d (epoch %d), want %d to %d", epoch, end, e, b.NextOffset(), next)
	}
	if latest := l.LatestEpoch(); last && latest < epoch {
		return fmt.Errorf("latest epoch is %d, the data has %d", latest, epoch)
	}
	return nil
}

// writable checks that the log goes on: the idempotent producer's last batch is
// known as a duplicate, its next one fits, and what is appended can be read.
func writable(l *commitlog.Log, c clock.Clock, all []record.Batch) error {
	r := newRig(nil, 99)
	r.log, r.epoch, r.stamp = l, max(l.LatestEpoch(), 1), 1_800_000_000_000
	sender := newcomer
	for _, b := range slices.Backward(all) {
		if b.ProducerID() != idempotent {
			continue
		}
		again := slices.Clone(b)
		done, err := l.Append(again, r.epoch, r.info(b))
		if err != nil || !done.Duplicate || done.Base != b.BaseOffset() || done.Last != b.LastOffset() {
			return fmt.Errorf("sending the producer's last batch [%d, %d] again gave %+v, %v", b.BaseOffset(), b.LastOffset(), done, err)
		}
		r.note(b)
		sender = idempotent
		break
	}
	for _, producer := range []kafka.ProducerID{kafka.NoProducerID, sender, kafka.NoProducerID} {
		if err := r.append(producer); err != nil {
			return fmt.Errorf("append (producer %d): %w", producer, err)
		}
	}
	if err := r.sync(); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	got, err := walk(l)
	if err != nil {
		return err
	}
	if want := append(slices.Clone(all), r.current...); !same(got, want) {
		return fmt.Errorf("after appends %s, want %s", describe(got), describe(want))
	}
	return nil
}
