package metrics

import (
	"reflect"
	"strconv"
	"testing"
)

func TestSameNameAndLabelsAreOneInstrument(t *testing.T) {
	r := NewRegistry()
	r.Counter("a_total", "A.", "key", "x").Add(2)
	r.Counter("a_total", "A.", "key", "x").Add(3)
	r.Counter("a_total", "A.", "key", "y").Add(1)
	r.Gauge("b", "B.").Set(-4)
	r.GaugeFunc("c", "C.", func() float64 { return 1.5 })
	want := []Family{
		{"a_total", "A.", KindCounter, []Series{
			{Labels: []Label{{"key", "x"}}, Value: 5}, {Labels: []Label{{"key", "y"}}, Value: 1}}},
		{"b", "B.", KindGauge, []Series{{Value: -4}}},
		{"c", "C.", KindGauge, []Series{{Value: 1.5}}},
	}
	if got := r.Snapshot(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestHistogramIsCumulative(t *testing.T) {
	r := NewRegistry()
	h := r.Histogram("h", "H.", []float64{1, 10})
	for _, v := range []float64{0.5, 1, 2, 100} {
		h.Observe(v)
	}
	s := r.Snapshot()[0].Series[0]
	if s.Count != 4 || s.Sum != 103.5 || !reflect.DeepEqual(s.Buckets, []Bucket{{1, 2}, {10, 3}}) {
		t.Errorf("%+v", s)
	}
}

// TestSeriesAreBounded holds that names from outside can't make memory grow.
func TestSeriesAreBounded(t *testing.T) {
	r := NewRegistry()
	for i := range SeriesMax + 50 {
		r.Counter("a_total", "A.", "topic", strconv.Itoa(i)).Add(1)
	}
	series := r.Snapshot()[0].Series
	if len(series) != SeriesMax+1 {
		t.Fatalf("%d series, want %d", len(series), SeriesMax+1)
	}
	if other := r.Counter("a_total", "A.", "topic", "new").Load(); other != 50 {
		t.Errorf("the series of the rest counts %d, want 50", other)
	}
}

func TestHotOperationsDoNotAllocate(t *testing.T) {
	r := NewRegistry()
	c, g, h := r.Counter("c", ""), r.Gauge("g", ""), r.Histogram("h", "", SecondsBounds())
	if n := testing.AllocsPerRun(100, func() { c.Add(1); g.Add(-1); h.Observe(0.001) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
