package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// leaderAndFollower are two logs with small segments on one disk.
func leaderAndFollower(t testing.TB) (leader, follower *bench) {
	mem := vfs.NewMem()
	small := func(o *Options) { o.Config.SegmentBytes, o.Config.IndexIntervalBytes = 1500, 200 }
	leader = newBench(t, mem, small)
	return leader, newBench(t, mem, func(o *Options) { small(o); o.Dir = "/other/t-0" })
}

// logFiles are the bytes of the segments' files by name.
func logFiles(b *bench) map[string]string {
	all := map[string]string{}
	for _, s := range b.log.list() {
		if s.Size() == 0 {
			continue
		}
		data, err := vfs.ReadFile(b.fs, s.Path(".log"), 1<<20)
		if err != nil {
			b.t.Fatal(err)
		}
		all[s.Path(".log")] = string(data)
	}
	return all
}

// TestReplicatedLogIsTheLeaders: however the leader's batches come, in large answers or
// one by one, the follower has the same bytes, epochs and producers.
func TestReplicatedLogIsTheLeaders(t *testing.T) {
	leader, follower := leaderAndFollower(t)
	random := rand.New(rand.NewPCG(7, 7))
	seq := int32(0)
	for i := range 120 {
		epoch := kafka.LeaderEpoch(i / 25)
		if i%5 == 0 {
			leader.append(batchOf(7, 0, seq, int64(i)), epoch)
			seq++
			continue
		}
		leader.append(plain(1+i%3, random.IntN(200), int64(i)), epoch)
	}
	m := record.EndTxnMarker{Type: record.ControlAbort, ProducerID: 7, TimestampMS: 900}
	info := leader.info(m.Batch())
	info.Origin = OriginCoordinator
	if _, err := leader.log.Append(m.Batch(), 9, info); err != nil {
		t.Fatal(err)
	}
	for at := kafka.Offset(0); at < leader.log.EndOffset(); at = follower.log.EndOffset() {
		got, _ := leader.read(at, ReadOptions{MaxBytes: 1 + random.IntN(2500), Upper: leader.log.EndOffset(), MinOne: true})
		if err := follower.log.AppendReplicated(got, 1); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(leader.all(1<<20), follower.all(1<<20)) {
		t.Error("the follower has other bytes")
	}
	if got, want := fmt.Sprint(follower.log.epochs.list), fmt.Sprint(leader.log.epochs.list); got != want {
		t.Errorf("epochs %s, want %s", got, want)
	}
	if got, want := follower.log.Producers(), leader.log.Producers(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("producers %+v, want %+v", got, want)
	}
	if n := len(logFiles(follower)); n < 5 {
		t.Errorf("%d segments: it did not roll", n)
	}
	for name, data := range logFiles(follower) {
		if len(data) > 1500 {
			t.Errorf("%s has %d bytes, a segment may have 1500", name, len(data))
		}
	}
	before := follower.all(300)
	follower.reopen(false)
	if !bytes.Equal(before, follower.all(1<<20)) {
		t.Error("after it was opened again, it has other bytes")
	}
}

// TestReplicatedBatchesThatDoNotFit are refused, and those before them are appended.
func TestReplicatedBatchesThatDoNotFit(t *testing.T) {
	at := func(base kafka.Offset, epoch kafka.LeaderEpoch) record.Batch {
		b := plain(2, 10, 1)
		b.Assign(base, epoch)
		return b
	}
	for name, c := range map[string]struct {
		second record.Batch
		end    kafka.Offset
		err    error
	}{
		"follows":        {at(2, 3), 4, nil},
		"after a gap":    {at(9, 3), 11, nil}, // compaction
		"again":          {at(0, 3), 2, ErrOffsetOutOfRange},
		"overlaps":       {at(1, 3), 2, ErrOffsetOutOfRange},
		"epoch back":     {at(2, 2), 2, ErrEpochBack},
		"cut off":        {at(2, 3)[:70], 2, record.ErrShort},
		"ends too large": {at(1<<63-1, 3), 2, ErrOffsetOutOfRange},
	} {
		b := newBench(t, vfs.NewMem(), nil)
		err := b.log.AppendReplicated(slices.Concat(at(0, 3), c.second), 1)
		if !errors.Is(err, c.err) || b.log.EndOffset() != c.end {
			t.Errorf("%s: %v, end %d; want %v, %d", name, err, b.log.EndOffset(), c.err, c.end)
		}
	}
}

func TestReplicatedAppendCostsOneWrite(t *testing.T) {
	count := vfs.NewCounting(vfs.OS())
	b := newBench(t, count, func(o *Options) { o.Dir = t.TempDir() + "/t-0" })
	run := slices.Concat(plain(2, 100, 1), plain(1, 50, 2), plain(1, 50, 2), plain(3, 50, 2))
	next := func() {
		end := b.log.EndOffset()
		for rest := []byte(run); len(rest) > 0; {
			batch, more, err := record.Next(rest)
			if err != nil {
				t.Fatal(err)
			}
			batch.Assign(end, 0)
			end, rest = batch.NextOffset(), more
		}
		if err := b.log.AppendReplicated(run, 1); err != nil {
			t.Fatal(err)
		}
	}
	next()
	before := count.Counts()
	const runs = 100
	allocs := testing.AllocsPerRun(runs-1, next)
	if did := count.Counts().Sub(before); allocs != 0 || did.Of(vfs.OpWrite) != runs || total(did) != runs {
		t.Errorf("%v allocations, operations %v for %d answers of 4 batches: want 0, and one write each", allocs, did.Ops, runs)
	}
}

// TestTruncateToEpoch is what a follower keeps when its leader's history is another one
// (KIP-101, KIP-279).
func TestTruncateToEpoch(t *testing.T) {
	for _, c := range []struct {
		name  string
		epoch kafka.LeaderEpoch // of the leader's answer
		end   kafka.Offset
		want  kafka.Offset
		last  kafka.LeaderEpoch
	}{
		{"the leader's end of a common epoch", 4, 12, 12, 4},
		{"the follower's end of a common epoch", 4, 19, 16, 4},
		{"an epoch that the follower does not know", 5, 18, 16, 4},
		{"an epoch before all of the follower's", 1, 3, 0, -1},
		{"the leader knows no epoch", -1, 14, 14, 4},
		{"the last epoch has no data, and the leader does not know it", 6, 20, 20, 6},
		{"nothing is cut when the leader has more", 6, 30, 20, 6},
	} {
		b := newBench(t, vfs.NewMem(), func(o *Options) { o.Config.SegmentBytes = 300 })
		for n := range 10 { // 2: 0–10, 4: 10–16, 6: 16–20, 8: from 20 on without data
			epoch := kafka.LeaderEpoch(2)
			if n >= 5 {
				epoch = 4
			}
			if n >= 8 {
				epoch = 6
			}
			b.append(plain(2, 10, int64(n)), epoch)
		}
		if err := b.log.AssignEpoch(8, 20); err != nil {
			t.Fatal(err)
		}
		end, err := b.log.TruncateToEpoch(c.epoch, c.end)
		if err != nil || end != c.want || b.log.EndOffset() != c.want || b.log.LatestEpoch() != c.last {
			t.Errorf("%s: end %d, latest epoch %d, %v; want %d, %d", c.name, end, b.log.LatestEpoch(), err, c.want, c.last)
		}
		b.reopen(true)
		if b.log.EndOffset() != c.want || b.log.LatestEpoch() != c.last {
			t.Errorf("%s, opened again: end %d, latest epoch %d", c.name, b.log.EndOffset(), b.log.LatestEpoch())
		}
		if _, err := b.log.TruncateToEpoch(3, -1); !errors.Is(err, ErrOffsetOutOfRange) {
			t.Errorf("%s: truncated to nowhere: %v", c.name, err)
		}
	}
}
