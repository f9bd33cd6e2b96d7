package tool

import (
	"errors"
	"io"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// log prints the batches of a segment, and their records when they are wanted.
func (d *dumper) log(base kafka.Offset) (err error) {
	s, err := openLog(d.fsys, d.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if !d.json {
		if err := d.row(new(row{}).add("Log starting offset", base)); err != nil {
			return err
		}
	}
	for {
		b, at, err := s.next()
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, errZeros) || errors.Is(err, record.ErrShort) || errors.Is(err, record.ErrCorrupt):
			return d.damage(at, err.Error())
		case err != nil:
			return err
		}
		if err := d.batch(b, at); err != nil {
			return err
		}
	}
}

func (d *dumper) batch(b record.Batch, at int64) error {
	valid := b.CheckCRC() == nil
	r := new(row{what: "batch"}).
		add("baseOffset", b.BaseOffset()).add("lastOffset", b.LastOffset()).add("count", b.Count()).
		add("baseSequence", b.BaseSequence()).add("lastSequence", b.LastSequence()).
		add("producerId", b.ProducerID()).add("producerEpoch", b.ProducerEpoch()).
		add("partitionLeaderEpoch", b.LeaderEpoch()).
		add("isTransactional", b.Transactional()).add("isControl", b.Control())
	if b.HasDeleteHorizon() {
		r.add("deleteHorizonMs", b.DeleteHorizon())
	}
	r.add("position", at).
		add(b.TimestampType().String(), b.MaxTimestamp()).
		add("size", len(b)).add("magic", b.Magic()).add("compresscodec", b.Codec().String()).
		add("crc", b.CRC()).add("isvalid", valid)
	if err := d.row(r); err != nil || !d.o.Records || !valid {
		return err
	}
	return d.records(b, at)
}

func (d *dumper) records(b record.Batch, at int64) error {
	it := b.Records(d.o.Limits)
	defer it.Close()
	for it.Next() {
		if err := d.row(d.record(b, it.Record())); err != nil {
			return err
		}
	}
	if err := it.Err(); err != nil {
		return d.damage(at, err.Error())
	}
	return nil
}

func (d *dumper) record(b record.Batch, rec *record.Record) *row {
	r := new(row{what: "record", indent: "| "}).
		add("offset", rec.Offset).add(b.TimestampType().String(), rec.Timestamp).
		add("keySize", size(rec.Key)).add("valueSize", size(rec.Value)).
		add("sequence", rec.Sequence)
	headers := rec.Headers()
	keys := make(names, len(headers))
	for i, h := range headers {
		keys[i] = h.Key
	}
	r.add("headerKeys", keys)
	if b.Control() {
		d.control(r, rec)
	}
	if !d.o.Data {
		return r
	}
	return r.add("key", rec.Key).add("payload", rec.Value).add("headers", headerList(headers))
}

// control adds what a control record says.
func (d *dumper) control(r *row, rec *record.Record) {
	t, err := record.ParseControlType(rec.Key)
	if err != nil {
		r.add("controlProblem", err.Error())
		return
	}
	r.add("endTxnMarker", t.String())
}

// size is a length as Kafka prints it: -1 for null.
func size(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}
