package partition

import (
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/record"
)

// Config is a topic's effective configuration in the forms that a partition
// needs. It is immutable; partitions of topics without own values share one.
type Config struct {
	Topic *config.Topic
	Rules record.Rules // what an append is checked by; version and time are filled in per append
	Log   *commitlog.Config
}

// NewConfig derives a Config from a topic's effective values and the broker's
// producer.id.expiration.ms.
func NewConfig(t *config.Topic, producerExpirationMS int64) *Config {
	return &Config{
		Topic: t,
		Rules: record.Rules{
			MaxBytes:     int(t.MaxMessageBytes),
			SegmentBytes: int(t.SegmentBytes),

			MaxRecordBytes: int(t.MaxDecompressedMessageBytes),

			Compression:   t.Compression,
			Level:         t.CompressionLevel(),
			TimestampType: t.TimestampType,
			BeforeMaxMS:   t.TimestampBeforeMaxMS,
			AfterMaxMS:    t.TimestampAfterMaxMS,
			Compacted:     t.CleanupCompact,
		},
		Log: &commitlog.Config{
			SegmentBytes:       t.SegmentBytes,
			SegmentMS:          segmentMS(t),
			SegmentJitterMS:    t.SegmentJitterMS,
			SegmentIndexBytes:  t.SegmentIndexBytes,
			IndexIntervalBytes: t.IndexIntervalBytes,
			FlushMessages:      t.FlushMessages,
			FlushMS:            t.FlushMS,
			FileDeleteDelayMS:  t.FileDeleteDelayMS,
			Preallocate:        t.Preallocate,

			ProducerExpirationMS: producerExpirationMS,
		},
	}
}

// segmentMS is segment.ms, or less for a topic whose records must be compacted in time:
// the active segment is not.
func segmentMS(t *config.Topic) int64 {
	if t.CleanupCompact {
		return min(t.SegmentMS, t.MaxCompactionLagMS)
	}
	return t.SegmentMS
}
