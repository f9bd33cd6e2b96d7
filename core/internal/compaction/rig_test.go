package compaction

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/throttle"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

const (
	logDir   = "data/t-0"
	producer = kafka.ProducerID(7)
)

// written is a record as it was produced.
type written struct {
	offset     kafka.Offset
	key, value string
	tombstone  bool
	stamp      int64
}

// rig is a log beside all that was ever written to it.
type rig struct {
	fs     vfs.FS
	dir    string
	clock  *clock.Manual
	rand   *rand.Rand
	log    *commitlog.Log
	topic  config.Topic
	point  kafka.Offset // recovery point of the owner's checkpoint
	dirty  kafka.Offset // of the owner's checkpoint
	all    []written
	seq    int32
	limits limits
	stats  stats
}

func newRig(fsys vfs.FS, seed uint64) *rig {
	r := &rig{
		fs: fsys, dir: logDir, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), rand: rand.New(rand.NewPCG(seed, 1)), point: kafka.NoOffset,
		topic:  config.Topic{CleanupCompact: true, SegmentBytes: 1500, SegmentIndexBytes: 1 << 20, IndexIntervalBytes: 200, DeleteRetentionMS: 1000, MaxCompactionLagMS: math.MaxInt64},
		limits: limits{mapBytes: 1 << 20, mapLoad: 0.9, readBytes: readBytesMin},
	}
	return r
}

// newMem is a disk whose data folder is durable.
func newMem(t interface{ Fatal(...any) }) *vfs.Mem {
	m := vfs.NewMem()
	for _, err := range []error{m.MkdirAll("data", 0o755), m.SyncDir("/"), m.SyncDir("data")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// open opens the log.
func (r *rig) open(fsys vfs.FS, clean bool) (*commitlog.Log, error) {
	c := commitlog.DefaultConfig()
	c.SegmentBytes, c.IndexIntervalBytes, c.FileDeleteDelayMS = r.topic.SegmentBytes, r.topic.IndexIntervalBytes, 500
	return commitlog.Open(context.Background(), commitlog.Options{
		FS: fsys, Dir: r.dir, TP: kafka.TopicPartition{Topic: "t"}, TopicID: kafka.TopicID{1}, Clock: r.clock, Config: c,
		RecoveryPoint: r.point, StartOffset: kafka.NoOffset, Clean: clean,
	})
}

// reopen closes the log and opens it again.
func (r *rig) reopen(clean bool) (err error) {
	if r.log != nil {
		if err := r.log.Close(clean); err != nil {
			return err
		}
		r.point = r.log.RecoveryPoint()
	}
	r.log, err = r.open(r.fs, clean)
	return err
}

// append writes one batch of n records with keys of few.
func (r *rig) append(n, keys int) error {
	o := record.PlainOptions(record.Codec(r.rand.IntN(5)))
	if idempotent := r.rand.IntN(3) == 0; idempotent {
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = producer, 0, r.seq
		r.seq += int32(n)
	}
	b := record.NewBuilder(o)
	end := r.log.EndOffset()
	for i := range n {
		w := written{offset: end + kafka.Offset(i), key: fmt.Sprint("key-", r.rand.IntN(keys)), stamp: clock.Millis(r.clock.Now()) - int64(r.rand.IntN(50))}
		var value []byte
		if w.tombstone = r.rand.IntN(5) == 0; !w.tombstone {
			value = bytes.Repeat([]byte{byte(r.rand.IntN(256))}, r.rand.IntN(60))
			w.value = string(value)
		}
		b.Append(w.stamp, []byte(w.key), value, []record.Header{{Key: "h", Value: []byte(w.key)}})
		r.all = append(r.all, w)
	}
	batch := b.Bytes()
	_, err := r.log.Append(batch, 1, commitlog.AppendInfo{
		MaxTimestamp: batch.MaxTimestamp(), LogAppendTimeMS: -1, NowMS: clock.Millis(r.clock.Now()),
	})
	return err
}

// compact does a pass up to the active segment.
func (r *rig) compact() error {
	segments := r.log.Segments()
	upper := segments[len(segments)-1].Base
	if upper <= r.dirty {
		return nil
	}
	p := pass{
		ctx: context.Background(), log: r.log, topic: &r.topic, dirty: r.dirty, upper: upper, nowMS: clock.Millis(r.clock.Now()),
		throttle: throttle.New(r.clock), limits: r.limits, stats: &r.stats,
	}
	end, err := p.run()
	if err == nil {
		r.dirty = end
	}
	return err
}

// batches reads all of a log, as a consumer does.
func batches(log *commitlog.Log) (all []record.Batch, err error) {
	for from := log.StartOffset(); from < log.EndOffset(); {
		upper := log.EndOffset()
		s, err := log.Read(from, commitlog.ReadOptions{MaxBytes: 700, Upper: upper, MinOne: true})
		if err != nil {
			return nil, err
		}
		if s.Range == nil && log.EndOffset() > upper { // the log grew, and what was below upper was compacted away
			continue
		}
		if s.Range == nil {
			return nil, fmt.Errorf("nothing at offset %d, the log ends at %d", from, log.EndOffset())
		}
		raw, err := s.Range.ReadAll(nil)
		s.Range.Release()
		if err != nil {
			return nil, err
		}
		for len(raw) > 0 {
			var b record.Batch
			if b, raw, err = record.Next(raw); err != nil {
				return nil, err
			}
			if err := b.CheckCRC(); err != nil {
				return nil, err
			}
			all = append(all, b)
		}
		if s.Next <= from {
			return nil, fmt.Errorf("a read at %d says to go on at %d", from, s.Next)
		}
		from = s.Next
	}
	return all, nil
}

// records are those of a log.
func records(log *commitlog.Log) (all []written, err error) {
	list, err := batches(log)
	if err != nil {
		return nil, err
	}
	for _, b := range list {
		if b.Control() {
			continue
		}
		it := b.Records(record.DecompressLimits{})
		for it.Next() {
			x := it.Record()
			if h := x.Headers(); len(h) != 1 || string(h[0].Value) != string(x.Key) {
				return nil, fmt.Errorf("headers of offset %d are %v", x.Offset, h)
			}
			all = append(all, written{x.Offset, string(x.Key), string(x.Value), x.Value == nil, x.Timestamp})
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
		it.Close()
	}
	return all, nil
}

// reachesEnd tells whether every sealed segment has a batch with its last offset.
func reachesEnd(log *commitlog.Log) error {
	list, err := batches(log)
	if err != nil {
		return err
	}
	ends := map[kafka.Offset]bool{}
	for _, b := range list {
		ends[b.NextOffset()] = true
	}
	for _, s := range log.Segments() {
		if !s.Active && !ends[s.Next] {
			return fmt.Errorf("segment %d has no batch that ends at %d", s.Base, s.Next)
		}
	}
	return nil
}

// check compares a log with what was written: every record that is there is one that
// was written, in order; what the log says of every key is what was said last.
func (r *rig) check(log *commitlog.Log) error {
	got, err := records(log)
	if err != nil {
		return err
	}
	last := map[string]written{}
	i := 0
	for _, g := range got {
		for i < len(r.all) && r.all[i].offset < g.offset {
			i++
		}
		if i == len(r.all) || r.all[i] != g {
			return fmt.Errorf("record %+v was never written", g)
		}
		last[g.key] = g
	}
	want := map[string]written{}
	for _, w := range r.all {
		want[w.key] = w
	}
	for key, w := range want {
		if g, ok := last[key]; g != w && (ok || !w.tombstone) {
			return fmt.Errorf("last record of %s is %+v (found: %v), want %+v", key, g, ok, w)
		}
	}
	return nil
}
