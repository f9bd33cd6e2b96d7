package tool

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

const (
	snapshotVersion   = 1
	snapshotHeader    = 2 + 4 + 4 // version, crc, count
	snapshotEntrySize = 46
	// maxSnapshotBytes is over a million producers.
	maxSnapshotBytes = 64 << 20
)

// producerEntry is one producer of a snapshot.
type producerEntry struct {
	id               kafka.ProducerID
	epoch            kafka.ProducerEpoch
	lastSequence     int32
	lastOffset       kafka.Offset
	offsetDelta      int32
	timestamp        int64
	coordinatorEpoch int32
	txnFirst         kafka.Offset // NoOffset: no transaction is open
}

// readSnapshot reads a producer snapshot file whole. Every way in which it can be
// wrong is an error.
func readSnapshot(fsys vfs.FS, name string) ([]producerEntry, error) {
	data, err := readWhole(fsys, name, maxSnapshotBytes)
	if err != nil {
		return nil, err
	}
	if len(data) < snapshotHeader {
		return nil, malformedf("producer snapshot of %d bytes, want %d at least", len(data), snapshotHeader)
	}
	if v := int16(binary.BigEndian.Uint16(data)); v != snapshotVersion {
		return nil, malformedf("producer snapshot has version %d, want %d", v, snapshotVersion)
	}
	stored := binary.BigEndian.Uint32(data[2:])
	if got := crc32.Checksum(data[6:], crc32.MakeTable(crc32.Castagnoli)); got != stored {
		return nil, malformedf("producer snapshot has checksum %08x, stored is %08x", got, stored)
	}
	count := int32(binary.BigEndian.Uint32(data[6:]))
	if want := snapshotHeader + int64(count)*snapshotEntrySize; want != int64(len(data)) {
		return nil, malformedf("producer snapshot of %d producers has %d bytes, want %d", count, len(data), want)
	}
	producers := make([]producerEntry, count)
	for i := range producers {
		producers[i] = parseProducer(data[snapshotHeader+i*snapshotEntrySize:])
	}
	return producers, nil
}

func parseProducer(b []byte) producerEntry {
	i64 := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[i:])) }
	i32 := func(i int) int32 { return int32(binary.BigEndian.Uint32(b[i:])) }
	return producerEntry{
		id:               kafka.ProducerID(i64(0)),
		epoch:            kafka.ProducerEpoch(binary.BigEndian.Uint16(b[8:])),
		lastSequence:     i32(10),
		lastOffset:       kafka.Offset(i64(14)),
		offsetDelta:      i32(22),
		timestamp:        i64(26),
		coordinatorEpoch: i32(34),
		txnFirst:         kafka.Offset(i64(38)),
	}
}
