package record

import (
	"encoding/binary"
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// ControlType is what a control record says, as in its key.
type ControlType int16

// The control records that are written to partitions of users.
const (
	ControlAbort  ControlType = 0
	ControlCommit ControlType = 1
)

// String is the name that Kafka's tools print.
func (t ControlType) String() string {
	switch t {
	case ControlAbort:
		return "ABORT"
	case ControlCommit:
		return "COMMIT"
	}
	return fmt.Sprintf("UNKNOWN(%d)", int16(t))
}

const controlVersion = 0

// EndTxnMarker ends a transaction of one producer in one partition (KIP-98).
type EndTxnMarker struct {
	Type             ControlType
	ProducerID       kafka.ProducerID
	ProducerEpoch    kafka.ProducerEpoch
	CoordinatorEpoch int32 // fences markers of a coordinator that lost its partition
	TimestampMS      int64
}

// Batch makes the control batch of the marker: one record, never compressed,
// transactional, without a sequence.
func (m EndTxnMarker) Batch() Batch {
	b := NewBuilder(BuilderOptions{
		ProducerID:    m.ProducerID,
		ProducerEpoch: m.ProducerEpoch,
		BaseSequence:  NoSequence,
		Transactional: true,
		Control:       true,
		LeaderEpoch:   kafka.NoLeaderEpoch,
	})
	key := binary.BigEndian.AppendUint16(nil, controlVersion)
	key = binary.BigEndian.AppendUint16(key, uint16(m.Type))
	value := binary.BigEndian.AppendUint16(nil, controlVersion)
	value = binary.BigEndian.AppendUint32(value, uint32(m.CoordinatorEpoch))
	b.Append(m.TimestampMS, key, value, nil)
	return b.Bytes()
}

// ParseControlType reads the key of a control record. Types that are not known
// here are no error: readers skip them.
func ParseControlType(key []byte) (ControlType, error) {
	if len(key) < 4 {
		return 0, fmt.Errorf("%w: control record key of %d bytes, want 4", ErrCorrupt, len(key))
	}
	return ControlType(binary.BigEndian.Uint16(key[2:])), nil
}

// EndTxnMarker reads the marker of a control batch. ok is false if the batch is
// no control batch, or one of another kind. Later versions of the value only add
// fields behind the known ones, so they are read too.
func (b Batch) EndTxnMarker() (m EndTxnMarker, ok bool, err error) {
	if !b.Control() || b.Count() == 0 {
		return m, false, nil
	}
	it := b.Records(DecompressLimits{})
	defer it.Close()
	if !it.Next() {
		return m, false, it.Err()
	}
	r := it.Record()
	if m.Type, err = ParseControlType(r.Key); err != nil {
		return m, false, err
	}
	if m.Type != ControlAbort && m.Type != ControlCommit {
		return m, false, nil
	}
	if len(r.Value) < 6 {
		return m, false, fmt.Errorf("%w: end transaction marker of %d bytes, want 6", ErrCorrupt, len(r.Value))
	}
	m.ProducerID, m.ProducerEpoch = b.ProducerID(), b.ProducerEpoch()
	m.CoordinatorEpoch = int32(binary.BigEndian.Uint32(r.Value[2:]))
	m.TimestampMS = r.Timestamp
	return m, true, nil
}

// EmptyBatch makes a batch without records that stands for the offsets of b: what
// compaction keeps so that a producer's last sequence is not forgotten.
func EmptyBatch(b Batch) Batch {
	e := append(Batch(nil), b[:HeaderSize]...)
	e[posAttributes+1] &^= attrCodec | attrDeleteHorizon
	binary.BigEndian.PutUint64(e[posBaseTimestamp:], ^uint64(0))
	binary.BigEndian.PutUint32(e[posCount:], 0)
	e.seal()
	return e
}
