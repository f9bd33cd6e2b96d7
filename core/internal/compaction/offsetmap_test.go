package compaction

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// TestOffsetMapIsAMap compares it with Go's, up to the entry that has no place.
func TestOffsetMapIsAMap(t *testing.T) {
	m := newOffsetMap(1000*slotBytes, 1<<20, 0.9)
	if m.most != 900 {
		t.Fatalf("1000 slots take %d entries, want 900", m.most)
	}
	want := map[string]kafka.Offset{}
	r := rand.New(rand.NewPCG(1, 2))
	for at := kafka.Offset(0); ; at++ {
		key := fmt.Sprint("k", r.IntN(3000))
		_, known := want[key]
		if !m.put([]byte(key), at) {
			if known || len(want) != 900 {
				t.Fatalf("refused with %d entries, the key was known: %v", len(want), known)
			}
			break
		}
		want[key] = at
	}
	for i := range 3000 {
		key := fmt.Sprint("k", i)
		o, ok := want[key]
		if !ok {
			o = kafka.NoOffset
		}
		if got := m.get([]byte(key)); got != o {
			t.Fatalf("%s: %d, want %d", key, got, o)
		}
	}
	for key := range want { // a key that is there always has its place
		if !m.put([]byte(key), 1<<40) || m.get([]byte(key)) != 1<<40 {
			t.Fatalf("%s was not moved", key)
		}
	}
}

// TestOffsetMapTakesWhatThePassNeeds: a small log must not cost a large map.
func TestOffsetMapTakesWhatThePassNeeds(t *testing.T) {
	m := newOffsetMap(128<<20, 100, 0.9)
	if n := len(m.table); n > 120*slotBytes {
		t.Fatalf("100 keys got %d bytes", n)
	}
	for i := range 100 {
		if !m.put([]byte{byte(i)}, kafka.Offset(i)) {
			t.Fatalf("no place for key %d of 100", i)
		}
	}
}

// TestOffsetMapAllocatesNothing holds the cost of a record.
func TestOffsetMapAllocatesNothing(t *testing.T) {
	m, key := newOffsetMap(1<<20, 1<<20, 0.9), []byte("some key")
	if n := testing.AllocsPerRun(100, func() {
		m.put(key, 5)
		m.get(key)
	}); n != 0 {
		t.Fatalf("%v allocations, want 0", n)
	}
}

func BenchmarkOffsetMap(b *testing.B) {
	m := newOffsetMap(24<<20, 1<<30, 0.9)
	var key [16]byte
	for i := 0; b.Loop(); i++ {
		key[0], key[1], key[2] = byte(i), byte(i>>8), byte(i>>16)
		if !m.put(key[:], kafka.Offset(i)) {
			m.get(key[:])
		}
	}
}
