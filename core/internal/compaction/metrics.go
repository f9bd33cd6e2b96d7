package compaction

import (
	"strconv"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
)

// schedulerMetrics are the numbers of a Scheduler.
type schedulerMetrics struct {
	passes, retries         *metrics.Counter
	read, written           *metrics.Counter
	records, kept, segments *metrics.Counter
	dirtiest, failed        *metrics.Gauge
}

func newMetrics(reg *metrics.Registry) schedulerMetrics {
	return schedulerMetrics{
		passes:   reg.Counter("mortise_compaction_passes_total", "Passes over a log that came to their end."),
		retries:  reg.Counter("mortise_compaction_retries_total", "Passes that will be tried again: the disk was full, or files ran out."),
		read:     reg.Counter("mortise_compaction_read_bytes_total", "Bytes read by compaction."),
		written:  reg.Counter("mortise_compaction_written_bytes_total", "Bytes written by compaction."),
		records:  reg.Counter("mortise_compaction_records_total", "Records looked at by compaction."),
		kept:     reg.Counter("mortise_compaction_kept_records_total", "Records that stayed."),
		segments: reg.Counter("mortise_compaction_replaced_segments_total", "Segments replaced by compacted ones."),
		dirtiest: reg.Gauge("mortise_compaction_dirtiest_percent", "Share of bytes not compacted yet in the dirtiest log."),
		failed:   reg.Gauge("mortise_compaction_failed_logs", "Logs that can't be compacted until the broker starts again; mortise_compaction_failed names them by topic and partition."),
	}
}

// count adds what a pass did.
func (m *schedulerMetrics) count(s *stats) {
	m.read.Add(uint64(s.read))
	m.written.Add(uint64(s.written))
	m.records.Add(uint64(s.records))
	m.kept.Add(uint64(s.kept))
	m.segments.Add(uint64(s.segments))
}

// mark shows whether a log can't be compacted: 1, or 0 once it is gone.
func (m *schedulerMetrics) mark(reg *metrics.Registry, tp kafka.TopicPartition, failed int64) {
	reg.Gauge("mortise_compaction_failed", "1 for a log that can't be compacted until the broker starts again.",
		"topic", tp.Topic, "partition", strconv.Itoa(int(tp.Partition))).Set(failed)
}
