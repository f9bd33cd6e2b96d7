package lag

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/group"
)

// world is groups with offsets, over partitions that end somewhere.
type world struct {
	ids     []string
	offsets []map[string]map[int32]group.Offset
	ends    map[string]int64
	looks   int
	clock   *clock.Manual
}

func newWorld() *world {
	return &world{ends: map[string]int64{}, clock: clock.NewManual(time.Unix(1_700_000_000, 0))}
}

// commit makes a group with an offset for each of the first partitions of a topic.
func (w *world) commit(id, topic string, at ...int64) {
	partitions := map[int32]group.Offset{}
	for n, o := range at {
		partitions[int32(n)] = group.Offset{At: o}
	}
	w.ids = append(w.ids, id)
	w.offsets = append(w.offsets, map[string]map[int32]group.Offset{topic: partitions})
}

func (w *world) lags() *Lags {
	return New(Options{Clock: w.clock,
		Groups: func(yield func(string, map[string]map[int32]group.Offset) bool) {
			w.looks++
			for i, id := range w.ids {
				if !yield(id, w.offsets[i]) {
					return
				}
			}
		},
		End: func(topic string, _ int32) (int64, bool) {
			end, ok := w.ends[topic]
			return end, ok
		}})
}

// A group that committed beyond the end, as after a truncation, is not ahead.
func TestLagIsTheSumOfItsPartitions(t *testing.T) {
	w := newWorld()
	w.ends["orders"] = 100
	w.commit("billing", "orders", 90, 70, 100, 130)
	w.commit("search", "orders", 100)
	w.commit("gone", "deleted", 5, 6)
	r := w.lags().Report()
	want := []Pair{{"billing", "orders", 40}, {"gone", "deleted", 0}, {"search", "orders", 0}}
	if !reflect.DeepEqual(r.Pairs, want) || r.Hidden != 0 || r.Unknown != 2 {
		t.Errorf("%+v, want %v and 2 unknown partitions", r, want)
	}
}

// One client can name its group as it likes: no page of metrics may break of it.
func TestIDsThatAreNoLabelsAreHidden(t *testing.T) {
	w := newWorld()
	w.ends["t"] = 10
	w.commit("bad\xff", "t", 1)
	w.commit(strings.Repeat("x", idBytesMax+1), "t", 1)
	w.commit(strings.Repeat("y", idBytesMax), "t", 1)
	if r := w.lags().Report(); len(r.Pairs) != 1 || r.Pairs[0].Group[0] != 'y' || r.Hidden != 2 {
		t.Errorf("%d pairs, %d hidden, want the one of 255 bytes and 2", len(r.Pairs), r.Hidden)
	}
}

func TestResultIsSharedWithinRefresh(t *testing.T) {
	w := newWorld()
	l := w.lags()
	for range 3 {
		l.Report()
		w.clock.Advance(Refresh/3 - 1)
	}
	if w.looks != 1 {
		t.Errorf("%d looks at the groups within Refresh, want 1", w.looks)
	}
	w.clock.Advance(Refresh)
	if l.Report(); w.looks != 2 {
		t.Errorf("%d looks after Refresh, want 2", w.looks)
	}
}

// manyPairs makes more pairs than are shown; the i-th is i behind.
func manyPairs(n int) *world {
	w := newWorld()
	w.ends["t"] = int64(n)
	for i := range n {
		w.commit(fmt.Sprintf("g%06d", i), "t", int64(n-i))
	}
	return w
}

func TestFarthestBehindAreShown(t *testing.T) {
	w := manyPairs(3 * SeriesMax)
	r := w.lags().Report()
	if len(r.Pairs) != SeriesMax || r.Hidden != 2*SeriesMax {
		t.Fatalf("%d shown, %d hidden", len(r.Pairs), r.Hidden)
	}
	for i, p := range r.Pairs {
		if want := int64(3*SeriesMax - 1 - i); p.Lag != want {
			t.Fatalf("place %d has lag %d, want %d", i, p.Lag, want)
		}
	}
}

// Pairs that are close to each other keep their places when the others move a little
// past them; one that falls far behind comes in at once.
func TestChoiceIsStable(t *testing.T) {
	const n = 2 * SeriesMax
	w := newWorld()
	w.ends["t"] = 10_000
	for i := range n {
		w.commit(fmt.Sprintf("g%06d", i), "t", 5000) // all are 5000 behind
	}
	l := w.lags()
	first := names(l.Report())
	for i := range n {
		w.offsets[i]["t"][0] = group.Offset{At: int64(5000 - i%800)} // 5000 to 5799: all in 4096…8191
	}
	w.clock.Advance(Refresh)
	if second := names(l.Report()); !reflect.DeepEqual(first, second) {
		t.Error("pairs came and went though all are about as far behind as before")
	}
	w.offsets[n-1]["t"][0] = group.Offset{At: 0}
	w.clock.Advance(Refresh)
	if r := l.Report(); r.Pairs[0].Group != fmt.Sprintf("g%06d", n-1) || r.Pairs[0].Lag != 10_000 {
		t.Errorf("the farthest behind is %+v, want the last group with 10000", r.Pairs[0])
	}
}

// names are the groups of a report as a set.
func names(r *Report) map[string]bool {
	all := map[string]bool{}
	for _, p := range r.Pairs {
		all[p.Group] = true
	}
	return all
}

// The memory of a look does not grow with the number of pairs that are not shown.
func TestHiddenPairsAllocateNothing(t *testing.T) {
	few, many := manyPairs(2*SeriesMax), manyPairs(20*SeriesMax)
	a := testing.AllocsPerRun(3, func() { few.lags().Report() })
	b := testing.AllocsPerRun(3, func() { many.lags().Report() })
	if b > a+10 {
		t.Errorf("%v allocations with 20,000 pairs, %v with 2,000", b, a)
	}
}

// BenchmarkReport is what /metrics pays for the lags, once in Refresh.
func BenchmarkReport(b *testing.B) {
	for _, groups := range []int{50, 5000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			w := newWorld()
			for i := range groups {
				topics := map[string]map[int32]group.Offset{}
				for k := range 3 {
					topic := fmt.Sprint("topic", (i+k)%100)
					w.ends[topic] = 1 << 20
					topics[topic] = map[int32]group.Offset{}
					for p := range int32(4) {
						topics[topic][p] = group.Offset{At: int64(i * k)}
					}
				}
				w.ids, w.offsets = append(w.ids, fmt.Sprint("group", i)), append(w.offsets, topics)
			}
			l := w.lags()
			b.ReportAllocs()
			for b.Loop() {
				l.Report()
				w.clock.Advance(Refresh)
			}
		})
	}
}
