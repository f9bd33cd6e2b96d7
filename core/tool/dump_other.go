package tool

import (
	"errors"
	"fmt"
	"io"

	"github.com/mortisemq/mortise/core/kafka"
)

// entries prints a file of equal entries.
func (d *dumper) entries(size int64, zeroEnd bool, show func([]byte) *row) (err error) {
	e, err := openEntries(d.fsys, d.file, size, zeroEnd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	for {
		b, at, err := e.next()
		if err == io.EOF {
			if e.odd() > 0 {
				return d.damage(at, fmt.Sprintf("%d bytes at the end are no entry", e.odd()))
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := d.row(show(b)); err != nil {
			return err
		}
	}
}

func txnRow(e txnEntry) *row {
	return new(row{what: "txnindex"}).
		add("version", e.version).add("producerId", e.producerID).
		add("firstOffset", e.first).add("lastOffset", e.last).add("lastStableOffset", e.stable)
}

// bad prints the error of a file that could not be decoded; one of the file
// system is given back.
func (d *dumper) bad(err error) error {
	var bad *malformed
	if !errors.As(err, &bad) {
		return err
	}
	return d.damage(0, err.Error())
}

func (d *dumper) snapshot() error {
	producers, err := readSnapshot(d.fsys, d.file)
	if err != nil {
		return d.bad(err)
	}
	for _, p := range producers {
		r := new(row{what: "producer"}).
			add("producerId", p.id).add("producerEpoch", p.epoch).
			add("coordinatorEpoch", p.coordinatorEpoch).add("currentTxnFirstOffset", p.txnFirst).
			add("lastTimestamp", p.timestamp).add("lastSequence", p.lastSequence).
			add("lastOffset", p.lastOffset).add("offsetDelta", p.offsetDelta)
		if err := d.row(r); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) epochs() error {
	epochs, err := readEpochs(d.fsys, d.file)
	if err != nil {
		return d.bad(err)
	}
	for _, e := range epochs {
		if err := d.row(new(row{what: "epoch"}).add("leaderEpoch", e.epoch).add("startOffset", e.start)); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumper) metadata() error {
	id, err := readTopicID(d.fsys, d.file)
	if err != nil {
		return d.bad(err)
	}
	return d.row(new(row{what: "metadata"}).add("topicId", kafka.TopicID(id).String()))
}

func (d *dumper) checkpoint() error {
	lines, err := readLines(d.fsys, d.file, 3)
	if err != nil {
		return d.bad(err)
	}
	for _, f := range lines {
		if err := d.row(new(row{what: "checkpoint"}).add("topic", f[0]).add("partition", f[1]).add("offset", f[2])); err != nil {
			return err
		}
	}
	return nil
}
