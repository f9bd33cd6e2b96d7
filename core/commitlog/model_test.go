package commitlog_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/seeded"
	"github.com/mortisemq/mortise/core/vfs"
)

// TestModel does random things to a log and compares it with a slice of batches.
func TestModel(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		m := &model{rig: newRig(newMem(t), rapid.Uint64().Draw(rt, "seed"))}
		must := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		must(m.open(false))
		defer func() { _ = m.log.Close(false) }()
		number := func(max int, name string) int { return rapid.IntRange(0, max).Draw(rt, name) }
		rt.Repeat(map[string]func(*rapid.T){
			"append":     func(*rapid.T) { must(m.append(kafka.NoProducerID)) },
			"idempotent": func(*rapid.T) { must(m.append(idempotent)); m.fresh++ },
			"duplicate":  func(*rapid.T) { must(m.duplicate(number(6, "age"))) },
			"replicate":  func(*rapid.T) { must(m.replicate(number(20, "gap"))) },
			"in transaction": func(*rapid.T) {
				must(m.append(transactional))
			},
			"commit":       func(*rapid.T) { must(m.endTxn(record.ControlCommit)) },
			"abort":        func(*rapid.T) { must(m.endTxn(record.ControlAbort)) },
			"epoch":        func(*rapid.T) { must(m.nextEpoch()) },
			"sync":         func(*rapid.T) { must(m.sync()) },
			"roll":         func(*rapid.T) { must(m.log.Roll()) },
			"truncate":     func(*rapid.T) { m.fresh = 0; must(m.truncate(number(5, "batches"))) },
			"start":        func(*rapid.T) { must(m.setStart(number(5, "batches"))) },
			"delete":       func(*rapid.T) { must(m.deleteOldest(number(3, "segments"))) },
			"start over":   func(*rapid.T) { m.fresh = 0; must(m.startOver(number(50, "gap"))) },
			"stop":         func(*rapid.T) { m.fresh = 0; must(m.reopen(true)) },
			"kill":         func(*rapid.T) { m.fresh = 0; must(m.reopen(false)) },
			"power loss":   func(*rapid.T) { m.fresh = 0; must(m.powerLoss()) },
			"out of range": func(*rapid.T) { must(m.outOfRange(1 + number(9, "by"))) },
			"":             func(*rapid.T) { must(m.compare()) },
		})
	})
}

// model is a rig whose promise is compared with the log after every step.
type model struct {
	*rig
	fresh int // idempotent batches since the producers' state was last loaded
}

// replicate appends a batch as a leader sends it, after a gap that compaction left.
func (m *model) replicate(gap int) error {
	b := m.build(kafka.NoProducerID)
	b.Assign(m.log.EndOffset()+kafka.Offset(gap), m.epoch)
	info := m.info(b)
	info.Origin = commitlog.OriginReplication
	done, err := m.log.Append(slices.Clone(b), m.epoch, info)
	if err != nil || done.Base != b.BaseOffset() {
		return fmt.Errorf("replicated batch at %d: %+v, %w", b.BaseOffset(), done, err)
	}
	m.current = append(m.current, b)
	return nil
}

// duplicate sends a batch of the idempotent producer again. The last five are
// known, of a state that was loaded only the last one: Kafka's snapshots hold no
// more. Older ones may be refused, but never be appended.
func (m *model) duplicate(age int) error {
	var sent []record.Batch
	for _, b := range slices.Backward(m.current) {
		if b.ProducerID() == idempotent {
			sent = append(sent, b)
		}
	}
	if age >= len(sent) {
		return nil
	}
	old := sent[age]
	done, err := m.log.Append(slices.Clone(old), m.epoch, m.info(old))
	if known := age < 5 && (age == 0 || age < m.fresh); known && (err != nil || !done.Duplicate || done.Base != old.BaseOffset() || done.Last != old.LastOffset()) {
		return fmt.Errorf("batch [%d, %d], sent again as the last but %d: %+v, %w", old.BaseOffset(), old.LastOffset(), age, done, err)
	}
	if err == nil && !done.Duplicate {
		return fmt.Errorf("batch [%d, %d] was appended twice", old.BaseOffset(), old.LastOffset())
	}
	return nil
}

// startOver empties the log as a follower that lost touch does.
func (m *model) startOver(gap int) error { return m.startAt(m.log.EndOffset() + kafka.Offset(gap)) }

// powerLoss syncs, loses what was not durable, which is no data then, and goes on
// with the disk that is left.
func (m *model) powerLoss() error {
	if err := m.sync(); err != nil {
		return err
	}
	m.checkpoint()
	left := m.fs.(*vfs.Mem).Crash(vfs.CrashOptions{})
	if err := m.log.Close(false); err != nil {
		return err
	}
	m.fs = left
	return m.open(false)
}

// outOfRange reads outside of the log.
func (m *model) outOfRange(by int) error {
	for _, at := range []kafka.Offset{m.log.StartOffset() - kafka.Offset(by), m.log.EndOffset() + kafka.Offset(by)} {
		if _, _, err := readAt(m.log, at, 100); !errors.Is(err, commitlog.ErrOffsetOutOfRange) {
			return fmt.Errorf("read at %d of [%d, %d): %w", at, m.log.StartOffset(), m.log.EndOffset(), err)
		}
	}
	return nil
}

// compare checks everything that can be asked of the log.
func (m *model) compare() error {
	l := m.log
	got, err := walk(l)
	if err != nil {
		return err
	}
	if !same(got, m.current) {
		return fmt.Errorf("log [%d, %d) holds %s, want %s", l.StartOffset(), l.EndOffset(), describe(got), describe(m.current))
	}
	if err := m.consistent(l, got); err != nil {
		return err
	}
	if l.RecoveryPoint() > l.EndOffset() || l.StartOffset() > l.RecoveryPoint() {
		return fmt.Errorf("start %d, recovery point %d, end %d are out of order", l.StartOffset(), l.RecoveryPoint(), l.EndOffset())
	}
	return errors.Join(m.compareSegments(), m.compareTransactions())
}

// compareSegments checks that segments cover the log without overlap.
func (m *model) compareSegments() error {
	l, bytes := m.log, int64(0)
	list := l.Segments()
	for i, s := range list {
		bytes += s.Bytes
		if s.Next < s.Base || i > 0 && list[i-1].Next > s.Base || s.Active != (i == len(list)-1) {
			return fmt.Errorf("segment %d of %+v is out of order", i, list)
		}
	}
	if first, last := list[0], list[len(list)-1]; first.Base > l.StartOffset() || last.Next != l.EndOffset() || bytes != l.SizeBytes() {
		return fmt.Errorf("segments %+v of a log [%d, %d) with %d bytes", list, l.StartOffset(), l.EndOffset(), l.SizeBytes())
	}
	return nil
}

// aborted is an aborted transaction as a reader of every record sees it.
type aborted struct{ first, last, marker kafka.Offset }

// transactions looks the transactional producer's batches through, for the first
// offset of an open transaction and for the aborted ones.
func (m *model) transactions() (open kafka.Offset, list []aborted) {
	open = kafka.NoOffset
	last := kafka.NoOffset
	for _, b := range slices.Concat(m.gone, m.current) {
		switch {
		case !b.Transactional():
		case !b.Control():
			if open == kafka.NoOffset {
				open = b.BaseOffset()
			}
			last = b.LastOffset()
		case open != kafka.NoOffset:
			if marker, _, err := b.EndTxnMarker(); err == nil && marker.Type == record.ControlAbort {
				list = append(list, aborted{open, last, b.BaseOffset()})
			}
			open = kafka.NoOffset
		}
	}
	return open, list
}

// compareTransactions compares what readers of committed data go by. What lies
// below the log's start as a whole may be forgotten.
func (m *model) compareTransactions() error {
	open, want := m.transactions()
	start, end := m.log.StartOffset(), m.log.EndOffset()
	if got := m.log.FirstUnstableOffset(); got != open && !(open < start && got <= max(start, m.first(transactional))) {
		return fmt.Errorf("first unstable offset is %d, want %d", got, open)
	}
	got, err := m.log.AbortedTransactions(start, end)
	if err != nil {
		return err
	}
	for _, a := range got {
		if !slices.ContainsFunc(want, func(w aborted) bool { return w.marker == a.LastOffset && w.first <= a.FirstOffset }) {
			return fmt.Errorf("aborted transaction %+v never was", a)
		}
	}
	for _, w := range want {
		found := func(a commitlog.Aborted) bool {
			return a.ProducerID == transactional && a.LastOffset == w.marker && a.FirstOffset <= max(w.first, start)
		}
		if w.last >= start && !slices.ContainsFunc(got, found) {
			return fmt.Errorf("aborted transactions from %d on are %+v, want %+v", start, got, w)
		}
	}
	return nil
}

// first is where a producer's first batch that can be read begins.
func (m *model) first(producer kafka.ProducerID) kafka.Offset {
	for _, b := range m.current {
		if b.ProducerID() == producer && !b.Control() {
			return b.BaseOffset()
		}
	}
	return kafka.NoOffset
}
