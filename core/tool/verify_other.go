package tool

import (
	"errors"
	"io"

	"github.com/mortisemq/mortise/core/kafka"
)

// loadEpochs reads the leader-epoch-checkpoint for the segments to come.
func (v *verifier) loadEpochs(name string, p *partitionState) error {
	v.report.Files++
	epochs, err := readEpochs(v.fsys, name)
	if err != nil {
		return v.whole(name, err)
	}
	for i, e := range epochs[min(1, len(epochs)):] {
		if before := epochs[i]; e.epoch <= before.epoch || e.start < before.start {
			v.find(Damage, name, NoPosition, e.start, "epoch %d from offset %d does not come after epoch %d from offset %d",
				e.epoch, e.start, before.epoch, before.start)
		}
	}
	p.epochs, p.epochFile = epochs, name
	return nil
}

// checkEpochEnd compares the last epoch's start with where the log ends.
func (v *verifier) checkEpochEnd(p *partitionState) {
	if len(p.epochs) == 0 || p.next == kafka.NoOffset {
		return
	}
	if e := p.epochs[len(p.epochs)-1]; e.start > p.next {
		v.find(Damage, p.epochFile, NoPosition, e.start, "epoch %d starts behind the end of the log, offset %d", e.epoch, p.next)
	}
}

// other verifies the files that do not need the log. bases are the offsets of the
// segments that exist.
func (v *verifier) other(name string, bases map[kafka.Offset]bool) error {
	k, base := fileKind(name)
	switch k {
	case indexFile, timeIndexFile:
		if !bases[base] {
			v.find(Note, name, NoPosition, kafka.NoOffset, "index of a segment that does not exist")
		}
		return nil // checked with its log
	case txnIndexFile:
		if !bases[base] {
			v.find(Note, name, NoPosition, kafka.NoOffset, "index of a segment that does not exist")
		}
		return v.txnIndex(name, base)
	case snapshotFile:
		v.report.Files++
		producers, err := readSnapshot(v.fsys, name)
		if err != nil {
			return v.whole(name, err)
		}
		v.producers(name, base, producers)
	case metadataFile:
		v.report.Files++
		if _, err := readTopicID(v.fsys, name); err != nil {
			return v.whole(name, err)
		}
	case checkpointFile:
		v.report.Files++
		if _, err := readLines(v.fsys, name, 3); err != nil {
			return v.whole(name, err)
		}
	}
	return nil
}

// producers checks that a snapshot tells of nothing after its offset.
func (v *verifier) producers(name string, at kafka.Offset, producers []producerEntry) {
	seen := make(map[kafka.ProducerID]bool, len(producers))
	for _, p := range producers {
		if seen[p.id] {
			v.find(Damage, name, NoPosition, p.lastOffset, "producer %d is there twice", p.id)
		}
		seen[p.id] = true
		if p.lastOffset >= at || p.txnFirst >= at {
			v.find(Damage, name, NoPosition, p.lastOffset, "producer %d has offset %d, not before the snapshot's %d",
				p.id, max(p.lastOffset, p.txnFirst), at)
		}
	}
}

func (v *verifier) txnIndex(name string, base kafka.Offset) (err error) {
	e, err := openEntries(v.fsys, name, txnIndexEntrySize, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	v.report.Files++
	if e.odd() > 0 {
		v.find(Damage, name, e.total-e.odd(), kafka.NoOffset, "%d bytes at the end are no entry", e.odd())
	}
	before := kafka.NoOffset
	for {
		b, at, err := e.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		t := parseTxnEntry(b)
		switch {
		case t.version != 0:
			v.find(Damage, name, at, t.last, "entry has version %d, want 0", t.version)
		case t.first > t.last || t.last < base:
			v.find(Damage, name, at, t.last, "transaction from offset %d to %d in the segment of %d", t.first, t.last, base)
		case t.last <= before:
			v.find(Damage, name, at, t.last, "transaction ends at offset %d, not after the one before it, %d", t.last, before)
		}
		before = max(before, t.last)
	}
}
