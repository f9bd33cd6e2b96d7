package producerstate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/mortisemq/mortise/core/kafka"
)

// ErrBadSnapshot means that a snapshot file can't be used: it was torn, damaged,
// or is of another version.
var ErrBadSnapshot = errors.New("bad producer snapshot")

const (
	snapshotVersion = 1
	snapshotCRCAt   = 2
	snapshotCRCFrom = 6
	snapshotHeader  = 10
	snapshotEntry   = 46
	// SnapshotBytesMax bounds what is read of a snapshot file.
	SnapshotBytesMax = snapshotHeader + 8<<20*snapshotEntry
)

// Snapshot is the state in Kafka's format.
func (s *State) Snapshot() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot()
}

// snapshot encodes. Caller holds mu.
func (s *State) snapshot() []byte {
	b := make([]byte, snapshotHeader, snapshotHeader+len(s.producers)*snapshotEntry)
	binary.BigEndian.PutUint16(b, snapshotVersion)
	binary.BigEndian.PutUint32(b[snapshotCRCFrom:], uint32(len(s.producers)))
	for _, e := range s.sorted() {
		b = e.append(b)
	}
	binary.BigEndian.PutUint32(b[snapshotCRCAt:], crc32.Checksum(b[snapshotCRCFrom:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func (e *entry) append(b []byte) []byte {
	last := batch{last: -1, lastSeq: noSequence}
	if p := e.last(); p != nil {
		last = *p
	}
	b = binary.BigEndian.AppendUint64(b, uint64(e.id))
	b = binary.BigEndian.AppendUint16(b, uint16(e.epoch))
	b = binary.BigEndian.AppendUint32(b, uint32(last.lastSeq))
	b = binary.BigEndian.AppendUint64(b, uint64(last.last))
	b = binary.BigEndian.AppendUint32(b, uint32(last.delta))
	b = binary.BigEndian.AppendUint64(b, uint64(e.timestamp))
	b = binary.BigEndian.AppendUint32(b, uint32(e.coordinatorEpoch))
	return binary.BigEndian.AppendUint64(b, uint64(e.txnFirst))
}

// Restore replaces the state by a snapshot's. Producers that were silent for
// longer than expiryMS are left out, as Kafka does. The error wraps
// ErrBadSnapshot; the state is empty then.
func (s *State) Restore(b []byte, nowMS, expiryMS int64) error {
	entries, err := parseSnapshot(b)
	s.Reset()
	if err != nil {
		return err
	}
	s.mu.Lock()
	for i := range entries {
		e := &entries[i]
		e.seen(min(e.timestamp, nowMS))
		if e.txnFirst == kafka.NoOffset && expiryMS > 0 && nowMS-e.seenMS >= expiryMS {
			continue
		}
		s.put(e)
		if e.txnFirst != kafka.NoOffset {
			s.begin(e.id, e.txnFirst)
		}
	}
	n := len(s.producers)
	s.mu.Unlock()
	s.budget.took(s, n)
	return nil
}

// parseSnapshot decodes and checks a snapshot.
func parseSnapshot(b []byte) ([]entry, error) {
	if len(b) < snapshotHeader {
		return nil, fmt.Errorf("%w: %d bytes, want at least %d", ErrBadSnapshot, len(b), snapshotHeader)
	}
	if v := int16(binary.BigEndian.Uint16(b)); v != snapshotVersion {
		return nil, fmt.Errorf("%w: version %d, want %d", ErrBadSnapshot, v, snapshotVersion)
	}
	crc := crc32.Checksum(b[snapshotCRCFrom:], crc32.MakeTable(crc32.Castagnoli))
	if stored := binary.BigEndian.Uint32(b[snapshotCRCAt:]); stored != crc {
		return nil, fmt.Errorf("%w: checksum is %08x, stored is %08x", ErrBadSnapshot, crc, stored)
	}
	n := int64(int32(binary.BigEndian.Uint32(b[snapshotCRCFrom:])))
	if n < 0 || n*snapshotEntry != int64(len(b)-snapshotHeader) {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", ErrBadSnapshot, n, len(b))
	}
	entries := make([]entry, 0, n)
	for b = b[snapshotHeader:]; len(b) > 0; b = b[snapshotEntry:] {
		entries = append(entries, parseEntry(b))
	}
	return entries, nil
}

func parseEntry(b []byte) entry {
	e := entry{
		id:               kafka.ProducerID(binary.BigEndian.Uint64(b)),
		epoch:            kafka.ProducerEpoch(binary.BigEndian.Uint16(b[8:])),
		timestamp:        int64(binary.BigEndian.Uint64(b[26:])),
		coordinatorEpoch: int32(binary.BigEndian.Uint32(b[34:])),
		txnFirst:         kafka.Offset(binary.BigEndian.Uint64(b[38:])),
	}
	if e.txnFirst < 0 {
		e.txnFirst = kafka.NoOffset
	}
	last := batch{
		lastSeq:   int32(binary.BigEndian.Uint32(b[10:])),
		last:      kafka.Offset(binary.BigEndian.Uint64(b[14:])),
		delta:     int32(binary.BigEndian.Uint32(b[22:])),
		timestamp: e.timestamp,
	}
	if last.last >= 0 {
		e.batches[0], e.count = last, 1
	}
	return e
}
