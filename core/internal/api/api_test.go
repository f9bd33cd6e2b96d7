package api

import (
	"testing"

	"github.com/mortisemq/mortise/core/wire"
)

// TestHandleCostsNothing: what stands before every handler allocates nothing.
func TestHandleCostsNothing(t *testing.T) {
	a := &API{}
	a.table = newTable(a)
	seen := 0
	a.table.find(3).handle = func(*wire.Request) { seen++ }
	r, _ := wire.RecordBytes(wire.Header{Key: 3, Version: 9}, nil)
	if n := testing.AllocsPerRun(100, func() { a.Handle(r) }); n != 0 {
		t.Errorf("%v allocs, want 0", n)
	}
	if seen == 0 {
		t.Error("the handler was not called")
	}
}

// TestTableIsInOrder, each key once, with ranges that make sense.
func TestTableIsInOrder(t *testing.T) {
	last := int16(-1)
	for _, e := range newTable(&API{}).entries {
		if e.key <= last || e.min > e.max || e.advertisedMin > e.min {
			t.Errorf("entry %d, versions %d-%d, shown from %d, after key %d", e.key, e.min, e.max, e.advertisedMin, last)
		}
		last = e.key
	}
}
