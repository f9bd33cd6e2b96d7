package admin

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mortisemq/mortise/core/metrics"
)

// Partition is what /metrics?partitions=true says of one partition.
type Partition struct {
	Topic         string
	Partition     int32
	LogStart      int64
	LogEnd        int64
	HighWatermark int64
	SizeBytes     int64
}

// metrics serves the broker's metrics with those of the Go runtime and the
// process, and the partitions' when the query asks for them.
func (s *Server) metrics() http.Handler {
	plain := s.exposition()
	detailed := s.exposition(partitionCollector{s.options.Partitions})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want, err := strconv.ParseBool(r.URL.Query().Get("partitions")); err == nil && want {
			detailed.ServeHTTP(w, r)
			return
		}
		plain.ServeHTTP(w, r)
	})
}

// exposition is a handler for the registry and more.
func (s *Server) exposition(more ...prometheus.Collector) http.Handler {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(familyCollector{s.options.Metrics.Snapshot}, familyCollector{s.options.Clients}, lagCollector{s.options.Lags},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(more...)
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: scrapesMax})
}

// familyCollector shows metrics of ours. It describes nothing beforehand, because they
// are made as components start and clients come.
type familyCollector struct{ families func() []metrics.Family } // nil: none

// Describe implements prometheus.Collector.
func (familyCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c familyCollector) Collect(out chan<- prometheus.Metric) {
	if c.families == nil {
		return
	}
	for _, family := range c.families() {
		for _, series := range family.Series {
			out <- convert(family, series)
		}
	}
}

// convert makes one metric of the library from one of ours.
func convert(f metrics.Family, s metrics.Series) prometheus.Metric {
	labels := prometheus.Labels{}
	for _, l := range s.Labels {
		labels[l.Name] = l.Value
	}
	desc := prometheus.NewDesc(f.Name, f.Help, nil, labels)
	var m prometheus.Metric
	var err error
	switch f.Kind {
	case metrics.KindHistogram:
		buckets := map[float64]uint64{}
		for _, b := range s.Buckets {
			buckets[b.Bound] = b.Count
		}
		m, err = prometheus.NewConstHistogram(desc, s.Count, s.Sum, buckets)
	case metrics.KindCounter:
		m, err = prometheus.NewConstMetric(desc, prometheus.CounterValue, s.Value)
	default:
		m, err = prometheus.NewConstMetric(desc, prometheus.GaugeValue, s.Value)
	}
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

// partitionCollector shows a few numbers of each partition.
type partitionCollector struct {
	partitions func(yield func(Partition) bool) // nil: none
}

// partitionDesc describes a number of a partition.
func partitionDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("mortise_partition_"+name, help, []string{"topic", "partition"}, nil)
}

// Describe implements prometheus.Collector.
func (partitionCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c partitionCollector) Collect(out chan<- prometheus.Metric) {
	if c.partitions == nil {
		return
	}
	start := partitionDesc("log_start_offset", "First offset in the log.")
	end := partitionDesc("log_end_offset", "Offset of the next record.")
	high := partitionDesc("high_watermark", "First offset that is not committed.")
	size := partitionDesc("size_bytes", "Bytes of the log's segments.")
	c.partitions(func(p Partition) bool {
		number := strconv.Itoa(int(p.Partition))
		for _, m := range [...]struct {
			desc  *prometheus.Desc
			value int64
		}{{start, p.LogStart}, {end, p.LogEnd}, {high, p.HighWatermark}, {size, p.SizeBytes}} {
			out <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(m.value), p.Topic, number)
		}
		return true
	})
}
