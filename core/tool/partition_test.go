package tool

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// partition writes the files of one by hand, with every batch in the indexes.
type partition struct {
	t       testing.TB
	dir     string
	base    kafka.Offset
	next    kafka.Offset
	log     []byte
	index   []byte
	times   []byte
	newest  int64
	batches []int // positions in log
}

func newPartition(t testing.TB, base kafka.Offset) *partition {
	p := &partition{t: t, dir: t.TempDir()}
	p.roll(base)
	return p
}

func (p *partition) roll(base kafka.Offset) {
	p.base, p.next, p.newest = base, base, record.NoTimestamp
	p.log, p.index, p.times, p.batches = nil, nil, nil, nil
}

// add appends a batch of n records at the next offset.
func (p *partition) add(codec record.Codec, epoch kafka.LeaderEpoch, n int) {
	o := record.PlainOptions(codec)
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = 7, 1, int32(p.next)
	b := record.NewBuilder(o)
	for i := range n {
		at := p.next + kafka.Offset(i)
		b.Append(1000+int64(at), fmt.Appendf(nil, "k%d", at), fmt.Appendf(nil, "value %d", at),
			[]record.Header{{Key: "h", Value: []byte{0xff}}, {Key: "n"}})
	}
	batch := b.Bytes()
	batch.Assign(p.next, epoch)
	p.addBatch(batch)
}

func (p *partition) addBatch(b record.Batch) {
	at := len(p.log)
	p.batches = append(p.batches, at)
	p.log = append(p.log, b...)
	p.newest = max(p.newest, b.MaxTimestamp())
	last := uint32(b.LastOffset() - p.base)
	if at > 0 {
		p.index = binary.BigEndian.AppendUint32(p.index, last)
		p.index = binary.BigEndian.AppendUint32(p.index, uint32(at))
		p.times = binary.BigEndian.AppendUint64(p.times, uint64(p.newest))
		p.times = binary.BigEndian.AppendUint32(p.times, last)
	}
	p.next = b.LastOffset() + 1
}

func (p *partition) file(name string) string { return filepath.Join(p.dir, name) }

func (p *partition) segmentFile(suffix string) string {
	return p.file(fmt.Sprintf("%020d%s", p.base, suffix))
}

func (p *partition) write(name string, data []byte) {
	p.t.Helper()
	if err := os.WriteFile(p.file(name), data, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// flush writes the segment's files. Its indexes end in preallocated zeros.
func (p *partition) flush() {
	p.t.Helper()
	p.write(filepath.Base(p.segmentFile(".log")), p.log)
	p.write(filepath.Base(p.segmentFile(".index")), append(p.index, make([]byte, 8*100)...))
	p.write(filepath.Base(p.segmentFile(".timeindex")), append(p.times, make([]byte, 12*100)...))
}

// snapshot encodes producers.
func snapshot(producers ...producerEntry) []byte {
	body := binary.BigEndian.AppendUint32(nil, uint32(len(producers)))
	for _, p := range producers {
		body = binary.BigEndian.AppendUint64(body, uint64(p.id))
		body = binary.BigEndian.AppendUint16(body, uint16(p.epoch))
		body = binary.BigEndian.AppendUint32(body, uint32(p.lastSequence))
		body = binary.BigEndian.AppendUint64(body, uint64(p.lastOffset))
		body = binary.BigEndian.AppendUint32(body, uint32(p.offsetDelta))
		body = binary.BigEndian.AppendUint64(body, uint64(p.timestamp))
		body = binary.BigEndian.AppendUint32(body, uint32(p.coordinatorEpoch))
		body = binary.BigEndian.AppendUint64(body, uint64(p.txnFirst))
	}
	out := []byte{0, 1}
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	return append(out, body...)
}

func txnEntryBytes(producer, first, last, stable int64) []byte {
	b := []byte{0, 0}
	for _, n := range []int64{producer, first, last, stable} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// sample is a partition of two segments in which nothing is wrong.
func samplePartition(t testing.TB) *partition {
	p := newPartition(t, 0)
	p.add(record.None, 0, 3)
	p.add(record.Gzip, 0, 2)
	p.add(record.Snappy, 2, 4)
	p.flush()
	p.roll(p.next)
	p.add(record.LZ4, 2, 1)
	p.add(record.Zstd, 3, 2)
	marker := record.EndTxnMarker{Type: record.ControlAbort, ProducerID: 9, CoordinatorEpoch: 4, TimestampMS: 1500}.Batch()
	marker.Assign(p.next, 3)
	p.addBatch(marker)
	p.flush()
	p.write(epochFileName, []byte("0\n3\n0 0\n2 5\n3 10\n"))
	p.write(metadataFileName, []byte("version: 0\ntopic_id: k9TpOvDlRxKX7NF9fMFkxQ\n"))
	p.write("00000000000000000009.snapshot", snapshot(
		producerEntry{id: 7, epoch: 1, lastSequence: 8, lastOffset: 8, offsetDelta: 3, timestamp: 1008, coordinatorEpoch: -1, txnFirst: -1}))
	p.write("00000000000000000009.txnindex", txnEntryBytes(9, 9, 12, 12))
	return p
}

// crcOf is the CRC-32C of b as it stands in a file.
func crcOf(b []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}
