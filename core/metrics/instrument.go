package metrics

import (
	"math"
	"slices"
	"sync/atomic"
)

// Counter only grows. The zero value is ready; it is safe for concurrent use.
type Counter struct{ n atomic.Uint64 }

// Add adds n.
func (c *Counter) Add(n uint64) { c.n.Add(n) }

// Load is the sum so far.
func (c *Counter) Load() uint64 { return c.n.Load() }

// Gauge goes up and down. The zero value is ready; it is safe for concurrent use.
type Gauge struct{ n atomic.Int64 }

// Set replaces the value.
func (g *Gauge) Set(n int64) { g.n.Store(n) }

// Add adds n, which may be negative.
func (g *Gauge) Add(n int64) { g.n.Add(n) }

// Load is the value.
func (g *Gauge) Load() int64 { return g.n.Load() }

// Histogram counts observations by upper bounds. It is safe for concurrent use;
// a reader may see an observation in the count and not yet in the sum.
type Histogram struct {
	bounds []float64       // rising
	counts []atomic.Uint64 // one more than bounds: the last is without a bound
	sum    atomic.Uint64   // bits of a float64
}

func newHistogram(bounds []float64) *Histogram {
	if !slices.IsSorted(bounds) {
		panic("BUG: histogram bounds must rise")
	}
	return &Histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// Observe counts one value. Hot: no allocation, two atomic operations.
func (h *Histogram) Observe(v float64) {
	at := 0
	for at < len(h.bounds) && v > h.bounds[at] {
		at++
	}
	h.counts[at].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// SecondsBounds suit latencies from 50 µs to 10 s.
func SecondsBounds() []float64 {
	return []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10}
}
