package metrics

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
)

// SeriesMax bounds the series of one family.
const SeriesMax = 1000

// Kind is what a family holds.
type Kind uint8

// The kinds of families.
const (
	KindCounter Kind = iota
	KindGauge
	KindHistogram
)

// Registry finds or makes instruments by name and labels. It is safe for
// concurrent use; ask it once and keep the instrument.
type Registry struct {
	mu       sync.Mutex
	families map[string]*family // guarded by mu
}

type family struct {
	name, help string
	kind       Kind
	series     map[string]*series // by joined labels
}

type series struct {
	labels []Label
	made   any // *Counter, *Gauge, func() float64 or *Histogram
}

// Label is a name and its value.
type Label struct{ Name, Value string }

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{families: map[string]*family{}} }

// Counter is the counter with this name and labels (name, value, name, value…).
func (r *Registry) Counter(name, help string, labels ...string) *Counter {
	return find(r, KindCounter, name, help, labels, func() *Counter { return &Counter{} })
}

// Gauge is the gauge with this name and labels.
func (r *Registry) Gauge(name, help string, labels ...string) *Gauge {
	return find(r, KindGauge, name, help, labels, func() *Gauge { return &Gauge{} })
}

// GaugeFunc shows what f returns when somebody looks; f must be quick and must
// not call the registry. A later f replaces an earlier one.
func (r *Registry) GaugeFunc(name, help string, f func() float64, labels ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place(KindGauge, name, help, labels).made = f
}

// Histogram is the histogram with this name and labels; bounds count only when
// it is made.
func (r *Registry) Histogram(name, help string, bounds []float64, labels ...string) *Histogram {
	return find(r, KindHistogram, name, help, labels, func() *Histogram { return newHistogram(bounds) })
}

func find[T any](r *Registry, kind Kind, name, help string, labels []string, make func() *T) *T {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.place(kind, name, help, labels)
	if s.made == nil {
		s.made = make()
	}
	found, ok := s.made.(*T)
	if !ok {
		panic("BUG: metric " + name + " is made in two ways")
	}
	return found
}

// place finds or makes a series. Caller holds mu.
func (r *Registry) place(kind Kind, name, help string, labels []string) *series {
	if len(labels)%2 != 0 {
		panic("BUG: metric " + name + ": a label without a value")
	}
	f := r.families[name]
	if f == nil {
		f = &family{name: name, help: help, kind: kind, series: map[string]*series{}}
		r.families[name] = f
	}
	if f.kind != kind {
		panic("BUG: metric " + name + " has two kinds")
	}
	key := strings.Join(labels, "\x00")
	if s := f.series[key]; s != nil {
		return s
	}
	if len(f.series) >= SeriesMax {
		labels = slices.Clone(labels)
		for i := 1; i < len(labels); i += 2 {
			labels[i] = "other"
		}
		if key = strings.Join(labels, "\x00"); f.series[key] != nil {
			return f.series[key]
		}
	}
	s := &series{}
	for i := 0; i < len(labels); i += 2 {
		s.labels = append(s.labels, Label{labels[i], labels[i+1]})
	}
	f.series[key] = s
	return s
}

// Family is a metric with all of its series at one moment.
type Family struct {
	Name, Help string
	Kind       Kind
	Series     []Series
}

// Series is one set of labels and its numbers.
type Series struct {
	Labels  []Label
	Value   float64  // counters and gauges
	Count   uint64   // histograms: all observations
	Sum     float64  // histograms
	Buckets []Bucket // histograms: cumulative, without the infinite one
}

// Bucket counts the observations that are at most Bound.
type Bucket struct {
	Bound float64
	Count uint64
}

// Snapshot is everything, sorted by name and labels.
func (r *Registry) Snapshot() []Family {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Family
	for _, f := range r.families {
		out := Family{Name: f.name, Help: f.help, Kind: f.kind}
		for _, s := range f.series {
			out.Series = append(out.Series, s.snapshot())
		}
		slices.SortFunc(out.Series, func(a, b Series) int {
			return slices.CompareFunc(a.Labels, b.Labels, func(x, y Label) int {
				return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Value, y.Value))
			})
		})
		all = append(all, out)
	}
	slices.SortFunc(all, func(a, b Family) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (s *series) snapshot() Series {
	out := Series{Labels: s.labels}
	switch made := s.made.(type) {
	case *Counter:
		out.Value = float64(made.Load())
	case *Gauge:
		out.Value = float64(made.Load())
	case func() float64:
		out.Value = made()
	case *Histogram:
		for i := range made.counts {
			out.Count += made.counts[i].Load()
			if i < len(made.bounds) {
				out.Buckets = append(out.Buckets, Bucket{made.bounds[i], out.Count})
			}
		}
		out.Sum = math.Float64frombits(made.sum.Load())
	}
	return out
}
