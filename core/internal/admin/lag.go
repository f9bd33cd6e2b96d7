package admin

import "github.com/prometheus/client_golang/prometheus"

// Lags are how far groups are behind, for /metrics.
type Lags struct {
	Pairs   []GroupLag
	Hidden  int // pairs that were left out
	Unknown int // partitions that were not counted
}

// GroupLag is how many records a group is behind in a topic. Group is valid UTF-8, and
// no pair is there twice.
type GroupLag struct {
	Group, Topic string
	Records      int64
}

// lagCollector shows how far groups are behind.
type lagCollector struct{ lags func() Lags } // nil: nobody knows

// Describe implements prometheus.Collector.
func (lagCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c lagCollector) Collect(out chan<- prometheus.Metric) {
	if c.lags == nil {
		return
	}
	l := c.lags()
	lag := prometheus.NewDesc("mortise_group_lag_records",
		"Records between a group's committed offsets and the high watermarks of a topic, of the groups that this broker coordinates; the 1000 pairs that are farthest behind.",
		[]string{"group", "topic"}, nil)
	for _, p := range l.Pairs {
		out <- prometheus.MustNewConstMetric(lag, prometheus.GaugeValue, float64(p.Records), p.Group, p.Topic)
	}
	for _, m := range [...]struct {
		name, help string
		value      int
	}{
		{"mortise_group_lag_hidden_pairs", "Pairs of group and topic that mortise_group_lag_records leaves out: others are farther behind, or the group's id is no text of at most 255 bytes.", l.Hidden},
		{"mortise_group_lag_unknown_partitions", "Partitions with a committed offset that mortise_group_lag_records leaves out: this broker does not have them.", l.Unknown},
	} {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(m.name, m.help, nil, nil), prometheus.GaugeValue, float64(m.value))
	}
}
