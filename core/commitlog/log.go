package commitlog

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/producerstate"
	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// Log is one partition's log. It is safe for concurrent use; Append serves one
// caller at a time.
type Log struct {
	dir     *segment.Dir
	fs      vfs.FS
	tp      kafka.TopicPartition
	topicID kafka.TopicID
	clock   clock.Clock
	log     *slog.Logger
	metrics logMetrics
	limits  record.DecompressLimits
	config  atomic.Pointer[Config]

	start, end, recovery atomic.Int64 // written under mu
	segments             atomic.Pointer[[]*segment.Segment]
	failure              atomic.Pointer[error]
	closed               atomic.Bool

	ctl     sync.Mutex // truncate, delete, close: one at a time
	syncing sync.Mutex // one Sync at a time

	mu                sync.Mutex // appends
	producers         *producerstate.State
	epochs            epochCache
	snapshots         []kafka.Offset // of snapshot files, rising; guarded by mu
	unsyncedSnapshots []kafka.Offset // those that the next Sync makes durable; guarded by mu
	jitterMS          int64          // of the active segment; guarded by mu
	cuts              uint64         // truncations so far; guarded by mu
	fresh             bool           // files were made since the last Sync; guarded by mu
	made              bool           // so was the folder; guarded by mu
	epochLate         bool           // an epoch was assigned and waits for its first batch to be written; guarded by mu
	timers            []clock.Timer  // removals that wait; guarded by mu
	removing          sync.WaitGroup // removals under way; added to under mu
}

// logMetrics are shared by all logs of a registry.
type logMetrics struct {
	appends, appendedBytes, duplicates *metrics.Counter
	syncs, rolls, failures             *metrics.Counter
	recoveredBytes, tornBytes          *metrics.Counter
	deletedSegments, replaced          *metrics.Counter
}

func newLogMetrics(reg *metrics.Registry) logMetrics {
	return logMetrics{
		appends:         reg.Counter("mortise_commitlog_appended_batches_total", "Batches appended."),
		appendedBytes:   reg.Counter("mortise_commitlog_appended_bytes_total", "Bytes appended."),
		duplicates:      reg.Counter("mortise_commitlog_duplicate_batches_total", "Batches that were in the log already."),
		syncs:           reg.Counter("mortise_commitlog_syncs_total", "Segment files made durable by fdatasync."),
		rolls:           reg.Counter("mortise_commitlog_rolls_total", "Segments begun because one was full."),
		failures:        reg.Counter("mortise_commitlog_storage_failures_total", "Disk operations that failed."),
		recoveredBytes:  reg.Counter("mortise_commitlog_recovered_bytes_total", "Bytes read and checked by recovery."),
		tornBytes:       reg.Counter("mortise_commitlog_torn_bytes_total", "Bytes cut off by recovery."),
		deletedSegments: reg.Counter("mortise_commitlog_deleted_segments_total", "Segments deleted."),
		replaced:        reg.Counter("mortise_commitlog_replaced_segments_total", "Segments replaced by compaction."),
	}
}

// StartOffset is the first offset that may be read.
func (l *Log) StartOffset() kafka.Offset { return kafka.Offset(l.start.Load()) }

// EndOffset is the offset that the next record gets (LEO).
func (l *Log) EndOffset() kafka.Offset { return kafka.Offset(l.end.Load()) }

// RecoveryPoint is the offset below which everything is on the disk.
func (l *Log) RecoveryPoint() kafka.Offset { return kafka.Offset(l.recovery.Load()) }

// SetConfig changes the settings; they count from the next append on.
func (l *Log) SetConfig(c *Config) {
	l.config.Store(c)
	l.dir.IndexInterval.Store(c.IndexIntervalBytes)
}

// LatestEpoch is the latest leader epoch, NoLeaderEpoch if there was none.
func (l *Log) LatestEpoch() kafka.LeaderEpoch { return l.epochs.latest() }

// AssignEpoch notes that a leader epoch begins at start, even if nothing is ever
// written in it (KIP-101). An epoch below the latest is ErrEpochBack. The file
// follows with the first batch or Sync: an epoch that has no data when the process
// ends is assigned again by the next, at the same offset.
//
// Cost: nothing on disk. A broker with many logs gives all of them an epoch when it
// starts.
func (l *Log) AssignEpoch(epoch kafka.LeaderEpoch, start kafka.Offset) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if epoch < l.epochs.latest() {
		return fmt.Errorf("%w: epoch %d, the latest of %s is %d", ErrEpochBack, epoch, l.tp, l.epochs.latest())
	}
	if l.epochs.assign(epoch, start) {
		l.epochLate = true
	}
	return nil
}

// writeEpochs stores the epochs without making them durable; Sync does. Caller
// holds mu.
func (l *Log) writeEpochs() error {
	l.fresh = true
	if err := l.epochs.write(l.fs, l.epochPath(), false); err != nil {
		return l.storageError(err)
	}
	return nil
}

func (l *Log) epochPath() string { return l.dir.Path() + "/" + epochFile }

// EpochEnd answers OffsetForLeaderEpoch: the largest epoch that is at most
// requested, and where it ends. Both are -1 when requested is unknown here.
func (l *Log) EpochEnd(requested kafka.LeaderEpoch) (kafka.LeaderEpoch, kafka.Offset) {
	return l.epochs.endOf(requested, l.EndOffset())
}

// EpochOf is the leader epoch in which offset was, or would be, written.
func (l *Log) EpochOf(offset kafka.Offset) kafka.LeaderEpoch { return l.epochs.of(offset) }

// FirstUnstableOffset is the first offset of an open transaction, NoOffset if
// there is none.
func (l *Log) FirstUnstableOffset() kafka.Offset { return l.producers.FirstOpen() }

// FirstUnstableOffsetAt counts also transactions whose marker is not below the
// high watermark yet: a reader of committed data must not pass them (KIP-98).
func (l *Log) FirstUnstableOffsetAt(highWatermark kafka.Offset) kafka.Offset {
	return l.producers.FirstUnstable(highWatermark)
}

// Producers lists the producers with state here, by id.
func (l *Log) Producers() []ProducerInfo { return l.producers.Infos() }

// ExpireProducers forgets producers that were silent for ProducerExpirationMS,
// and tells how many.
func (l *Log) ExpireProducers(nowMS int64) int {
	return l.producers.Expire(nowMS, l.config.Load().ProducerExpirationMS)
}

// SizeBytes is the size of all .log files.
func (l *Log) SizeBytes() (n int64) {
	for _, s := range *l.segments.Load() {
		n += s.Size()
	}
	return n
}

// list is the segments at this moment; the last is the active one.
func (l *Log) list() []*segment.Segment { return *l.segments.Load() }

func (l *Log) active() *segment.Segment {
	list := l.list()
	return list[len(list)-1]
}

// find is the index of the segment that holds offset, or would.
func find(list []*segment.Segment, offset kafka.Offset) int {
	return max(0, sort.Search(len(list), func(i int) bool { return list[i].Base() > offset })-1)
}

// newSegment makes a segment without data, with its own share of jitter so that
// not all logs roll at once. Caller holds mu.
func (l *Log) newSegment(base kafka.Offset) *segment.Segment {
	c := l.config.Load()
	l.jitterMS = 0
	if most := min(c.SegmentJitterMS, c.SegmentMS); most > 0 {
		l.jitterMS = rand.Int64N(most)
	}
	return segment.New(l.dir, base, l.nowMS())
}

func (l *Log) nowMS() int64 { return clock.Millis(l.clock.Now()) }

// usable tells why the log can't be used, if so.
func (l *Log) usable() error {
	if err := l.Failure(); err != nil {
		return err
	}
	if l.closed.Load() {
		return fmt.Errorf("%s: %w", l.tp, ErrClosed)
	}
	return nil
}

// Failure is why the log can't be used before it is opened again; nil: it can.
func (l *Log) Failure() error {
	if err := l.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// fail poisons the log: what is in memory and what is on disk may differ now.
func (l *Log) fail(err error) error {
	err = l.storageError(err)
	if l.failure.CompareAndSwap(nil, &err) {
		l.log.Error("log failed, it must be opened again", "partition", l.tp.String(), "dir", l.dir.Path(), "err", err)
	}
	return err
}

// storageError marks an error of the disk.
func (l *Log) storageError(err error) error {
	if err == nil || errors.Is(err, ErrStorage) || errors.Is(err, ErrCorrupt) {
		return err
	}
	l.metrics.failures.Add(1)
	return fmt.Errorf("%s: %w: %w", l.tp, ErrStorage, err)
}

// IsTransient tells whether a storage error leaves the log usable: the disk is
// full, or the process has no file descriptor left.
func IsTransient(err error) bool {
	return vfs.IsNoSpace(err) || errors.Is(err, segment.ErrTooManyFiles)
}
