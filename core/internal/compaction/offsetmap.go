package compaction

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/mortisemq/mortise/core/kafka"
)

const (
	// hashBytes of a key's SHA-256 stand for the key. Two keys that share them would
	// be taken for one; nobody can make such a pair.
	hashBytes = 16
	// slotBytes: the hash, then the offset + 1, 0 in a free slot.
	slotBytes = hashBytes + 8
)

// offsetMap has the last offset of keys, in one flat table. It belongs to one
// goroutine.
type offsetMap struct {
	table  []byte
	slots  uint64
	used   int
	most   int          // entries that it takes
	latest kafka.Offset // up to here every key was put
}

// newOffsetMap makes a map for up to keys keys, fewer if bytes is not enough for them.
// load is how full the table may become.
func newOffsetMap(bytes int64, keys int64, load float64) *offsetMap {
	slots := min(bytes/slotBytes, int64(float64(keys)/load)+2)
	slots = max(slots, 2)
	return &offsetMap{
		table: make([]byte, slots*slotBytes), slots: uint64(slots),
		most: max(1, min(int(float64(slots)*load), int(slots)-1)), latest: kafka.NoOffset,
	}
}

// full tells whether another new key has no place.
func (m *offsetMap) full() bool { return m.used >= m.most }

// slot is where key is or would be.
//
// Hot: per record. 0 allocs, one hash; neighbouring slots are looked at when the
// first one is taken.
func (m *offsetMap) slot(key []byte) (at []byte, hash [sha256.Size]byte, found bool) {
	hash = sha256.Sum256(key)
	i := binary.LittleEndian.Uint64(hash[:]) % m.slots
	for {
		s := m.table[i*slotBytes:][:slotBytes]
		if binary.LittleEndian.Uint64(s[hashBytes:]) == 0 {
			return s, hash, false
		}
		if [hashBytes]byte(s) == [hashBytes]byte(hash[:]) {
			return s, hash, true
		}
		if i++; i == m.slots {
			i = 0
		}
	}
}

// put notes the offset of a key. It reports false when there is no place for it.
func (m *offsetMap) put(key []byte, offset kafka.Offset) bool {
	s, hash, found := m.slot(key)
	if !found {
		if m.full() {
			return false
		}
		copy(s, hash[:hashBytes])
		m.used++
	}
	binary.LittleEndian.PutUint64(s[hashBytes:], uint64(offset)+1)
	return true
}

// get is the last offset of a key, NoOffset if the map does not know it.
func (m *offsetMap) get(key []byte) kafka.Offset {
	s, _, found := m.slot(key)
	if !found {
		return kafka.NoOffset
	}
	return kafka.Offset(binary.LittleEndian.Uint64(s[hashBytes:]) - 1)
}
