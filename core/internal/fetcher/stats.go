package fetcher

import (
	"context"
	"log/slog"

	"github.com/mortisemq/mortise/core/metrics"
)

// Stats are the metrics of all sessions of a broker.
type Stats struct {
	Bytes, Requests, Errors, Connects   *metrics.Counter
	Lag, Partitions, Failed, Connection *metrics.Gauge
}

// NewStats registers the metrics.
func NewStats(r *metrics.Registry) *Stats {
	return &Stats{
		Bytes:      r.Counter("mortise_fetcher_bytes_total", "Bytes of batches that were fetched from leaders and appended."),
		Requests:   r.Counter("mortise_fetcher_requests_total", "Fetch requests that were sent to leaders."),
		Errors:     r.Counter("mortise_fetcher_errors_total", "Faults: refused requests, partitions that could not be fetched or appended, lost connections."),
		Connects:   r.Counter("mortise_fetcher_connects_total", "Connections that were made to leaders."),
		Lag:        r.Gauge("mortise_fetcher_lag_records", "Records that the followed partitions are behind the high watermarks of their leaders, together."),
		Partitions: r.Gauge("mortise_fetcher_partitions", "Partitions that are fetched from leaders."),
		Failed:     r.Gauge("mortise_fetcher_failed_partitions", "Of these, those that wait for a new leader epoch: their log can't be used, or the cluster has a newer epoch."),
		Connection: r.Gauge("mortise_fetcher_connections", "Connections to leaders."),
	}
}

// failed counts one more failed partition, or one less.
func (s *Stats) failed(more bool) {
	if more {
		s.Failed.Add(1)
	} else {
		s.Failed.Add(-1)
	}
}

// complain says once what is wrong with a partition: until it is well again, what comes
// back each time is for who debugs.
func (s *Session) complain(f *follower, level slog.Level, text string, args ...any) {
	if f.tries > 0 {
		level = slog.LevelDebug
	}
	s.log(f).Log(context.Background(), level, text, args...)
}

// log is the logger with the name of a partition.
func (s *Session) log(f *follower) *slog.Logger {
	return s.o.Log.With("partition", f.replica.TopicPartition().String())
}
