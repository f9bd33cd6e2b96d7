package compaction

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// txnRig is a log with transactions.
type txnRig struct {
	*rig
	sent map[kafka.ProducerID]int32
}

// put appends one record of a producer; its transaction is open until end.
func (r *txnRig) put(t *testing.T, id kafka.ProducerID, key, value string) {
	t.Helper()
	o := record.PlainOptions(record.None)
	if id >= 0 {
		o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = id, 0, r.sent[id], true
		r.sent[id]++
	}
	b := record.NewBuilder(o)
	b.Append(clock.Millis(r.clock.Now()), []byte(key), []byte(value), nil)
	r.write(t, b.Bytes(), commitlog.OriginClient)
}

// end writes a marker.
func (r *txnRig) end(t *testing.T, id kafka.ProducerID, how record.ControlType) {
	t.Helper()
	m := record.EndTxnMarker{Type: how, ProducerID: id, TimestampMS: clock.Millis(r.clock.Now())}
	r.write(t, m.Batch(), commitlog.OriginCoordinator)
}

func (r *txnRig) write(t *testing.T, b record.Batch, origin commitlog.Origin) {
	t.Helper()
	_, err := r.log.Append(b, 1, commitlog.AppendInfo{MaxTimestamp: b.MaxTimestamp(), LogAppendTimeMS: -1, NowMS: clock.Millis(r.clock.Now()), Origin: origin})
	if err != nil {
		t.Fatal(err)
	}
}

// pass rolls, compacts and prints what there is: offset, keys or marker, + for a horizon.
func (r *txnRig) pass(t *testing.T) string {
	t.Helper()
	if err := r.log.Roll(); err != nil {
		t.Fatal(err)
	}
	r.dirty = 0
	if err := r.compact(); err != nil {
		t.Fatal(err)
	}
	all, err := batches(r.log)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, b := range all {
		what := "-"
		if b.Control() {
			what = "empty marker"
			if kind, ok, err := b.ControlTypeOf(); err != nil {
				t.Fatal(err)
			} else if ok {
				what = kind.String()
			}
		} else {
			it := b.Records(record.DecompressLimits{})
			for it.Next() {
				what = string(it.Record().Key) + "=" + string(it.Record().Value)
			}
			it.Close()
		}
		if b.HasDeleteHorizon() {
			what += "+"
		}
		out = append(out, fmt.Sprintf("%d:%s", b.BaseOffset(), what))
	}
	aborted, err := r.log.AbortedTransactions(0, r.log.EndOffset())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range aborted {
		out = append(out, fmt.Sprintf("aborted %d: %d-%d", a.ProducerID, a.FirstOffset, a.LastOffset))
	}
	return strings.Join(out, " ")
}

// TestAbortedDataGoesBeforeItsMarker: what was aborted must neither stay nor supersede,
// and a reader must be able to tell as long as any of it is there.
func TestAbortedDataGoesBeforeItsMarker(t *testing.T) {
	disk := newMem(t)
	r := &txnRig{newRig(disk, 1), map[kafka.ProducerID]int32{}}
	if err := r.reopen(false); err != nil {
		t.Fatal(err)
	}
	r.put(t, -1, "a", "1")               // 0
	r.put(t, 8, "a", "aborted")          // 1
	r.put(t, 9, "b", "1")                // 2
	r.put(t, 8, "c", "aborted")          // 3
	r.end(t, 8, record.ControlAbort)     // 4
	r.end(t, 9, record.ControlCommit)    // 5
	r.put(t, -1, "z", "1")               // 6
	if err := r.log.Roll(); err != nil { // the transaction of 8 goes on in another segment
		t.Fatal(err)
	}
	r.put(t, 8, "d", "1")             // 7
	r.end(t, 8, record.ControlCommit) // 8
	r.put(t, 9, "b", "2")             // 9
	r.end(t, 9, record.ControlCommit) // 10
	r.put(t, -1, "z", "2")            // 11
	for i, want := range []string{
		// b=1 is superseded, so its marker has no data any more at the next pass.
		"0:a=1 4:ABORT 5:COMMIT 7:d=1 8:COMMIT 9:b=2 10:COMMIT 11:z=2 aborted 8: 1-4",
		"0:a=1 4:ABORT+ 5:COMMIT+ 7:d=1 8:COMMIT 9:b=2 10:COMMIT 11:z=2",
		"0:a=1 4:ABORT+ 5:COMMIT+ 7:d=1 8:COMMIT 9:b=2 10:COMMIT 11:z=2",
	} {
		if got := r.pass(t); got != want {
			t.Fatalf("pass %d:\n%s, want\n%s", i, got, want)
		}
	}
	r.clock.Advance(time.Duration(r.topic.DeleteRetentionMS) * time.Millisecond)
	if got, want := r.pass(t), "0:a=1 7:d=1 8:COMMIT 9:b=2 10:COMMIT 11:z=2"; got != want {
		t.Fatalf("after delete.retention.ms:\n%s, want\n%s", got, want)
	}
	if err := verify(disk); err != nil {
		t.Fatal(err)
	}
	if err := r.reopen(false); err != nil {
		t.Fatal(err)
	}
	for _, p := range r.log.Producers() { // a fenced producer must stay fenced
		if p.LastSequence != r.sent[p.ProducerID]-1 {
			t.Errorf("producer %d is at %d, it sent up to %d", p.ProducerID, p.LastSequence, r.sent[p.ProducerID]-1)
		}
	}
}

// TestLastBatchOfAProducerStays: its sequence numbers must go on after a restart that
// has nothing but the data.
func TestLastBatchOfAProducerStays(t *testing.T) {
	disk := newMem(t)
	r := newRig(disk, 1)
	if err := r.reopen(false); err != nil {
		t.Fatal(err)
	}
	o := record.PlainOptions(record.None)
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = producer, 0, 0
	for _, o := range []record.BuilderOptions{o, record.PlainOptions(record.None), record.PlainOptions(record.None)} {
		b := record.NewBuilder(o)
		b.Append(1, []byte("k"), []byte("v"), nil) // only the last one stays
		b.Append(1, []byte("l"), []byte("v"), nil)
		if _, err := r.log.Append(b.Bytes(), 1, commitlog.AppendInfo{MaxTimestamp: 1, LogAppendTimeMS: -1, NowMS: clock.Millis(r.clock.Now())}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.log.Roll(); err != nil {
		t.Fatal(err)
	}
	if err := r.compact(); err != nil {
		t.Fatal(err)
	}
	if err := r.log.Close(false); err != nil {
		t.Fatal(err)
	}
	entries, err := disk.ReadDir(logDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".snapshot") {
			if err := disk.Remove(logDir + "/" + e.Name()); err != nil {
				t.Fatal(err)
			}
		}
	}
	log, err := r.open(disk, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close(false)
	infos := log.Producers()
	if len(infos) != 1 || infos[0].LastSequence != 1 {
		t.Fatalf("producers %+v, want the last sequence 1", infos)
	}
	all, err := batches(log)
	if err != nil || len(all) != 2 || all[0].Count() != 0 {
		t.Fatalf("%d batches, %v, want an empty one and the last one", len(all), err)
	}
}
