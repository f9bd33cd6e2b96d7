package commitlog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

const (
	logDir = "data/t-0"
	// walkMax bounds the batches that a test reads from one log.
	walkMax = 10_000
)

// smallConfig rolls and indexes so often that every test sees it happen.
func smallConfig() *commitlog.Config {
	c := commitlog.DefaultConfig()
	c.SegmentBytes, c.IndexIntervalBytes, c.FileDeleteDelayMS = 1200, 250, 1000
	return c
}

// promise is what a log owes after a crash at this moment.
type promise struct {
	// written is every batch that was ever given to the log at an offset. Whatever
	// a log holds must be one of them.
	written map[kafka.Offset][]record.Batch
	// current is what the log holds, in order; gone came before it, below the start.
	current, gone []record.Batch
	// Batches of current in [from, to) must survive.
	from, to kafka.Offset
	// point and start are what the owner's checkpoints say.
	point, start kafka.Offset
}

// clone keeps the promise as it is now.
func (p *promise) clone() *promise {
	q := *p
	q.current = slices.Clone(p.current)
	q.written = map[kafka.Offset][]record.Batch{}
	for at, batches := range p.written {
		q.written[at] = slices.Clone(batches)
	}
	return &q
}

// rig is a log under test beside what is known about it.
type rig struct {
	promise
	fs    vfs.FS
	clock *clock.Manual
	log   *commitlog.Log
	rand  *rand.Rand
	epoch kafka.LeaderEpoch
	stamp int64                      // timestamp of the last record; they only rise
	sent  map[kafka.ProducerID]int32 // sequence numbers used
}

func newRig(fsys vfs.FS, seed uint64) *rig {
	return &rig{
		promise: promise{written: map[kafka.Offset][]record.Batch{}, point: kafka.NoOffset, start: kafka.NoOffset},
		fs:      fsys,
		clock:   clock.NewManual(time.UnixMilli(1_700_000_000_000)),
		rand:    rand.New(rand.NewPCG(seed, 1)),
		epoch:   1,
		stamp:   1_700_000_000_000,
		sent:    map[kafka.ProducerID]int32{},
	}
}

// newMem is a disk whose data folder is durable, as logdir leaves it.
func newMem(t *testing.T) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	if err := errors.Join(m.MkdirAll("data", 0o755), m.SyncDir("/"), m.SyncDir("data")); err != nil {
		t.Fatal(err)
	}
	return m
}

// options are those of every log here.
func options(fsys vfs.FS, c clock.Clock, point, start kafka.Offset) commitlog.Options {
	return commitlog.Options{
		FS: fsys, Dir: logDir, TP: kafka.TopicPartition{Topic: "t"}, TopicID: kafka.TopicID{1},
		Clock: c, Config: smallConfig(), RecoveryPoint: point, StartOffset: start,
	}
}

// open opens the rig's log.
func (r *rig) open(clean bool) (err error) {
	o := options(r.fs, r.clock, r.point, r.start)
	o.Clean = clean
	r.log, err = commitlog.Open(context.Background(), o)
	return err
}

// The producers with an id: one idempotent, one transactional, one that appears
// after a crash.
const (
	idempotent    kafka.ProducerID = 7
	transactional kafka.ProducerID = 8
	newcomer      kafka.ProducerID = 9
)

// build makes a batch of one to four records.
func (r *rig) build(producer kafka.ProducerID) record.Batch {
	o := record.PlainOptions(record.None)
	if producer >= 0 {
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = producer, 0, r.sent[producer]
		o.Transactional = producer == transactional
	}
	b := record.NewBuilder(o)
	for range 1 + r.rand.IntN(4) {
		r.stamp += 10
		value := make([]byte, r.rand.IntN(120))
		for i := range value {
			value[i] = byte(r.rand.Uint32())
		}
		b.Append(r.stamp, []byte("k"), value, nil)
	}
	return b.Bytes()
}

// info is what a leader tells the log of a batch.
func (r *rig) info(b record.Batch) commitlog.AppendInfo {
	return commitlog.AppendInfo{
		MaxTimestamp: b.MaxTimestamp(), OffsetOfMaxTimestamp: b.LastOffsetDelta(),
		LogAppendTimeMS: -1, NowMS: clock.Millis(r.clock.Now()),
	}
}

// append appends a batch. A failed one may be found after a crash all the same.
func (r *rig) append(producer kafka.ProducerID) error {
	return r.appendBatch(r.build(producer), commitlog.OriginClient)
}

// endTxn appends the marker that ends the transactional producer's transaction.
func (r *rig) endTxn(how record.ControlType) error {
	r.stamp += 10
	m := record.EndTxnMarker{Type: how, ProducerID: transactional, TimestampMS: r.stamp}
	return r.appendBatch(m.Batch(), commitlog.OriginCoordinator)
}

func (r *rig) appendBatch(b record.Batch, origin commitlog.Origin) error {
	end := r.log.EndOffset()
	kept := slices.Clone(b)
	kept.Assign(end, r.epoch)
	r.written[end] = append(r.written[end], kept)
	info := r.info(b)
	info.Origin = origin
	done, err := r.log.Append(b, r.epoch, info)
	if err != nil {
		return err
	}
	if done.Base != end || done.Duplicate {
		return fmt.Errorf("appended at %d (duplicate: %v), the log ended at %d", done.Base, done.Duplicate, end)
	}
	r.current = append(r.current, kept)
	r.note(kept)
	return nil
}

// note counts the sequence numbers of a batch.
func (r *rig) note(b record.Batch) {
	if b.ProducerID() >= 0 && !b.Control() {
		r.sent[b.ProducerID()] = b.LastSequence() + 1
	}
}

// sync makes durable what was appended so far.
func (r *rig) sync() error {
	end := r.log.EndOffset()
	flushed, err := r.log.Sync()
	if err != nil {
		return err
	}
	if flushed != end {
		return fmt.Errorf("sync says %d, the log ended at %d", flushed, end)
	}
	r.to = max(r.to, flushed)
	return nil
}

// truncate cuts the log at a batch boundary, n batches from the end.
func (r *rig) truncate(n int) error {
	keep := max(0, len(r.current)-n)
	to := r.log.EndOffset()
	switch {
	case keep == len(r.current):
	case keep > 0:
		to = r.current[keep-1].NextOffset()
	default:
		to = r.current[0].BaseOffset()
	}
	r.to = min(r.to, to)
	if err := r.log.Truncate(to); err != nil {
		return err
	}
	r.current = r.current[:keep]
	r.checkpoint() // as Truncate demands of its owner
	clear(r.sent)
	for _, b := range slices.Concat(r.gone, r.current) {
		r.note(b)
	}
	return nil
}

// setStart moves the log's start into the n-th batch.
func (r *rig) setStart(n int) error {
	to := r.log.EndOffset()
	if n < len(r.current) {
		to = r.current[n].LastOffset()
	}
	r.from = max(r.from, to)
	if err := r.log.SetStartOffset(to); err != nil {
		return err
	}
	r.forget()
	return nil
}

// deleteOldest deletes n segments.
func (r *rig) deleteOldest(n int) error {
	segments := r.log.Segments()
	n = min(n, len(segments)-1)
	r.from = max(r.from, segments[n].Base)
	if n == 0 {
		return nil
	}
	if err := r.log.DeleteOldest(n, segments[n-1].Next, "test"); err != nil {
		return err
	}
	r.forget()
	return nil
}

// startAt empties the log.
func (r *rig) startAt(to kafka.Offset) error {
	r.from, r.to = to, 0
	if err := r.log.TruncateFullyAndStartAt(to); err != nil {
		return err
	}
	r.current, r.gone = nil, nil
	clear(r.sent)
	return nil
}

// forget drops what is below the log's start from the model.
func (r *rig) forget() {
	start := r.log.StartOffset()
	n := 0
	for n < len(r.current) && r.current[n].LastOffset() < start {
		n++
	}
	r.gone, r.current = append(r.gone, r.current[:n]...), slices.Clone(r.current[n:])
}

// nextEpoch makes this broker leader again.
func (r *rig) nextEpoch() error {
	r.epoch++
	return r.log.AssignEpoch(r.epoch, r.log.EndOffset())
}

// checkpoint is the owner writing its checkpoints.
func (r *rig) checkpoint() { r.point, r.start = r.log.RecoveryPoint(), r.log.StartOffset() }

// reopen closes the log and opens it again.
func (r *rig) reopen(clean bool) error {
	if err := r.log.Close(clean); err != nil {
		return err
	}
	if clean {
		r.to = max(r.to, r.log.EndOffset())
	}
	r.checkpoint()
	return r.open(clean)
}
