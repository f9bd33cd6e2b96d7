package commitlog

import (
	"log/slog"
	"math"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/producerstate"
	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// Files is the process's cache of open files, shared by all logs.
type Files = segment.Files

// NewFiles makes a cache of at most limit open files (0: DefaultOpenFiles). A nil
// registry means private metrics.
func NewFiles(limit int, reg *metrics.Registry) *Files { return segment.NewFiles(limit, reg) }

// DefaultOpenFiles is the limit of NewFiles(0, …).
const DefaultOpenFiles = segment.DefaultOpenFiles

// Range is a span of a segment file that stays readable until Release.
type Range = segment.Range

// ProducerBudget is the process's cap on remembered producer ids, shared by all
// logs.
type ProducerBudget = producerstate.Budget

// NewProducerBudget makes a budget of at most limit producer ids
// (0: producerstate.DefaultLimit). A nil registry means private metrics.
func NewProducerBudget(limit int, reg *metrics.Registry) *ProducerBudget {
	return producerstate.NewBudget(limit, reg)
}

// Options are what a log is opened with.
type Options struct {
	FS  vfs.FS // required
	Dir string // the partition's folder, made when missing
	TP  kafka.TopicPartition
	// TopicID is written to partition.metadata of a new log. Open refuses a
	// folder with another id. NoTopicID: not checked, not written.
	TopicID kafka.TopicID
	Clock   clock.Clock // nil: clock.System
	Config  *Config     // nil: DefaultConfig
	Files   *Files      // nil: a private one
	// RecoveryPoint and StartOffset come from the checkpoints; NoOffset: unknown.
	// Below the recovery point data is known to be on disk.
	RecoveryPoint, StartOffset kafka.Offset
	// Clean says that the log was closed cleanly: nothing is scanned.
	Clean   bool
	Log     *slog.Logger      // nil: discarded
	Metrics *metrics.Registry // nil: private
	// Producers is the shared cap on producer ids; nil: a private one.
	Producers *ProducerBudget
	// Progress is called during recovery with the bytes scanned and the bytes to
	// scan of this log.
	Progress func(bytesDone, bytesTotal int64)
	// Limits bound the decompression of batches in timestamp lookups.
	Limits record.DecompressLimits
}

// Config are the settings that may change while the log is open, with the names
// of Kafka's topic keys. It is immutable: SetConfig swaps it.
type Config struct {
	SegmentBytes, SegmentMS, SegmentJitterMS int64
	SegmentIndexBytes, IndexIntervalBytes    int64
	// FlushMessages and FlushMS are not acted upon here: the log's owner calls
	// Sync. math.MaxInt64 leaves flushing to the operating system.
	FlushMessages, FlushMS int64
	FileDeleteDelayMS      int64
	// ProducerExpirationMS is the broker's producer.id.expiration.ms.
	ProducerExpirationMS int64
	Preallocate          bool
}

// DefaultConfig is Kafka's defaults.
func DefaultConfig() *Config {
	return &Config{
		SegmentBytes: 1 << 30, SegmentMS: 7 * 24 * 3600 * 1000,
		SegmentIndexBytes: 10 << 20, IndexIntervalBytes: 4096,
		FlushMessages: math.MaxInt64, FlushMS: math.MaxInt64,
		FileDeleteDelayMS: 60_000, ProducerExpirationMS: 86_400_000,
	}
}
