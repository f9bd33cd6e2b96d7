package lag

import (
	"cmp"
	"container/heap"
	"math/bits"
	"slices"
)

// key names a pair.
type key struct{ group, topic string }

// top keeps the pairs that are to be shown out of any number. The one that would go
// next is the root of the heap.
type top struct {
	shown  map[key]struct{} // before
	pairs  ranked
	hidden int
}

// newTop begins a choice after one that may have been.
func newTop(last *Report) *top {
	t := &top{}
	if last != nil && last.Hidden > 0 { // else everything is shown anyway
		t.shown = make(map[key]struct{}, len(last.Pairs))
		for _, p := range last.Pairs {
			t.shown[key{p.Group, p.Topic}] = struct{}{}
		}
	}
	return t
}

// add takes a pair in, or counts it as hidden, or one that it displaces.
//
// Cost: 0 allocs once SeriesMax pairs are held; log2(SeriesMax) comparisons when it
// displaces another.
func (t *top) add(p Pair) {
	_, before := t.shown[key{p.Group, p.Topic}]
	next := rankedPair{Pair: p, before: before}
	if len(t.pairs) < SeriesMax {
		heap.Push(&t.pairs, next)
		return
	}
	t.hidden++
	if compare(next, t.pairs[0]) < 0 {
		t.pairs[0] = next
		heap.Fix(&t.pairs, 0)
	}
}

// sorted are the pairs that are shown, the farthest behind first.
func (t *top) sorted() []Pair {
	slices.SortFunc(t.pairs, compare)
	pairs := make([]Pair, len(t.pairs))
	for i, r := range t.pairs {
		pairs[i] = r.Pair
	}
	return pairs
}

// rankedPair is a pair with what speaks for showing it.
type rankedPair struct {
	Pair
	before bool // it was shown before
}

// compare orders pairs, the one to show first.
func compare(a, b rankedPair) int {
	if c := cmp.Compare(bits.Len64(uint64(b.Lag)), bits.Len64(uint64(a.Lag))); c != 0 {
		return c
	}
	if a.before != b.before {
		if a.before {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Lag, a.Lag), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Topic, b.Topic))
}

// ranked is a heap whose root is the pair to show last.
type ranked []rankedPair

func (r ranked) Len() int           { return len(r) }
func (r ranked) Less(i, j int) bool { return compare(r[i], r[j]) > 0 }
func (r ranked) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ranked) Push(x any)        { *r = append(*r, x.(rankedPair)) }
func (r *ranked) Pop() any          { panic("BUG: nothing is taken out of the choice") }
