package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// abortedBytes is the size of an entry: version int16, then four int64.
const abortedBytes = 34

// Aborted is one transaction that was aborted, as Kafka's AbortedTxn.
type Aborted struct {
	ProducerID  kafka.ProducerID
	FirstOffset kafka.Offset
	LastOffset  kafka.Offset // of the marker
	// LastStable is the last stable offset when the marker was written.
	LastStable kafka.Offset
}

func (a Aborted) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(a.ProducerID))
	b = binary.BigEndian.AppendUint64(b, uint64(a.FirstOffset))
	b = binary.BigEndian.AppendUint64(b, uint64(a.LastOffset))
	return binary.BigEndian.AppendUint64(b, uint64(a.LastStable))
}

// parseAborted reads the content of a .txnindex file. base is the segment's.
func parseAborted(b []byte, base kafka.Offset) ([]Aborted, error) {
	if len(b)%abortedBytes != 0 {
		return nil, fmt.Errorf("%w: %d bytes are no whole number of entries of %d", ErrCorrupt, len(b), abortedBytes)
	}
	var out []Aborted
	for ; len(b) > 0; b = b[abortedBytes:] {
		if v := int16(binary.BigEndian.Uint16(b)); v != 0 {
			return nil, fmt.Errorf("%w: version of an aborted transaction is %d, want 0", ErrCorrupt, v)
		}
		a := Aborted{
			ProducerID:  kafka.ProducerID(binary.BigEndian.Uint64(b[2:])),
			FirstOffset: kafka.Offset(binary.BigEndian.Uint64(b[10:])),
			LastOffset:  kafka.Offset(binary.BigEndian.Uint64(b[18:])),
			LastStable:  kafka.Offset(binary.BigEndian.Uint64(b[26:])),
		}
		if a.LastOffset < base || a.FirstOffset > a.LastOffset {
			return nil, fmt.Errorf("%w: aborted transaction from %d to %d in segment %d", ErrCorrupt, a.FirstOffset, a.LastOffset, base)
		}
		out = append(out, a)
	}
	return out, nil
}

// loadAborted reads the .txnindex once. A missing one is not an empty one: a
// segment that was deleted meanwhile still has readers, who must not take its
// aborted data for committed.
func (s *Segment) loadAborted() error {
	if s.haveAborted() {
		return nil
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.haveAborted() {
		return nil
	}
	b, err := vfs.ReadFile(s.dir.FS, s.Path(TxnIndex), indexBytesMax)
	if s.Gone() { // so it may be the file of what took its place
		return ErrDeleted
	}
	if err != nil {
		return err
	}
	list, err := parseAborted(b, s.base)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path(TxnIndex), err)
	}
	s.mu.Lock()
	s.aborted, s.txns = list, txnLoaded
	s.mu.Unlock()
	return nil
}

func (s *Segment) haveAborted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.txns != txnOnDisk
}

// AppendAborted writes an entry behind the others.
func (s *Segment) AppendAborted(a Aborted) error {
	if err := s.loadAborted(); err != nil {
		return err
	}
	s.mu.Lock()
	at := len(s.aborted) * abortedBytes
	s.mu.Unlock()
	f, err := s.dir.Files.openFile(s.dir.FS, s.Path(TxnIndex), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(a.append(nil), int64(at))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	s.mu.Lock()
	s.aborted, s.txns, s.txnDirty = append(s.aborted, a), txnLoaded, true
	s.mu.Unlock()
	return nil
}

// SetAborted replaces the file's content, after recovery or truncation.
func (s *Segment) SetAborted(list []Aborted) error {
	s.mu.Lock()
	none := len(list) == 0 && s.txns == txnNone
	s.mu.Unlock()
	if none {
		return nil
	}
	var b []byte
	for _, a := range list {
		b = a.append(b)
	}
	if len(b) == 0 {
		if err := s.dir.FS.Remove(s.Path(TxnIndex)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	} else if err := s.saveIndex(TxnIndex, b, -1); err != nil {
		return err
	}
	s.mu.Lock()
	s.aborted, s.txns, s.txnDirty = list, txnLoaded, true
	s.mu.Unlock()
	return nil
}

// AbortedIn appends the aborted transactions that have data from offset from on
// and below upper. done tells that no later segment can have one.
//
// Cost when the segment has none: one lock.
func (s *Segment) AbortedIn(dst []Aborted, from, upper kafka.Offset) (out []Aborted, done bool, err error) {
	if err := s.loadAborted(); err != nil {
		return dst, false, err
	}
	s.mu.Lock()
	list := s.aborted
	s.mu.Unlock()
	for _, a := range list {
		if a.LastOffset >= from && a.FirstOffset < upper {
			dst = append(dst, a)
		}
		if a.LastStable >= upper {
			return dst, true, nil
		}
	}
	return dst, false, nil
}
