package commitlog

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

func epochsOf(list ...epochStart) *epochCache {
	c := &epochCache{}
	c.set(list)
	return c
}

func TestKIP101EpochEnd(t *testing.T) { // protocol 3.5, 50
	c := epochsOf(epochStart{2, 10}, epochStart{4, 20}, epochStart{7, 30})
	for _, x := range []struct {
		ask  kafka.LeaderEpoch
		want kafka.LeaderEpoch
		end  kafka.Offset
	}{
		{7, 7, 99}, {8, -1, -1}, {6, 4, 30}, {4, 4, 30}, {3, 2, 20}, {2, 2, 20}, {1, 1, 10}, {0, 0, 10}, {-1, -1, -1},
	} {
		if epoch, end := c.endOf(x.ask, 99); epoch != x.want || end != x.end {
			t.Errorf("epoch %d ends as %d at %d, want %d at %d", x.ask, epoch, end, x.want, x.end)
		}
	}
	if epoch, end := epochsOf().endOf(0, 99); epoch != -1 || end != -1 {
		t.Errorf("without epochs: %d at %d", epoch, end)
	}
}

func TestEpochsRiseAndAreCutAtBothEnds(t *testing.T) {
	list := []epochStart{{2, 10}, {4, 20}, {7, 30}}
	for _, x := range []struct {
		do   func(c *epochCache) bool
		news bool
		want string
	}{
		{func(c *epochCache) bool { return c.assign(7, 50) }, false, "[{2 10} {4 20} {7 30}]"},
		{func(c *epochCache) bool { return c.assign(9, 50) }, true, "[{2 10} {4 20} {7 30} {9 50}]"},
		{func(c *epochCache) bool { return c.assign(9, 30) }, true, "[{2 10} {4 20} {9 30}]"},
		{func(c *epochCache) bool { return c.assign(9, 15) }, true, "[{2 10} {9 15}]"},
		{func(c *epochCache) bool { return c.truncateEnd(31) }, false, "[{2 10} {4 20} {7 30}]"},
		{func(c *epochCache) bool { return c.truncateEnd(30) }, true, "[{2 10} {4 20}]"},
		{func(c *epochCache) bool { return c.truncateEnd(0) }, true, "[]"},
		{func(c *epochCache) bool { return c.truncateStart(5) }, false, "[{2 10} {4 20} {7 30}]"},
		{func(c *epochCache) bool { return c.truncateStart(10) }, false, "[{2 10} {4 20} {7 30}]"},
		{func(c *epochCache) bool { return c.truncateStart(25) }, true, "[{4 25} {7 30}]"},
		{func(c *epochCache) bool { return c.truncateStart(30) }, true, "[{7 30}]"},
		{func(c *epochCache) bool { return c.truncateStart(99) }, true, "[{7 99}]"},
	} {
		c := epochsOf(list...)
		if news := x.do(c); news != x.news || fmt.Sprint(c.list) != x.want {
			t.Errorf("%v %v, want %v %s", news, c.list, x.news, x.want)
		}
		if fmt.Sprint(list) != "[{2 10} {4 20} {7 30}]" {
			t.Fatal("a list that a reader may hold was changed in place")
		}
	}
}

func TestEpochOfOffsetIsTheOneItWasWrittenIn(t *testing.T) { // OFFS-09
	b := newBench(t, vfs.NewMem(), nil)
	b.append(plain(2, 10, 1000), 1)
	b.append(plain(2, 10, 2000), 3)
	b.append(plain(2, 10, 3000), 8)
	for at, want := range []kafka.LeaderEpoch{1, 1, 3, 3, 8, 8} {
		if got := b.log.EpochOf(kafka.Offset(at)); got != want {
			t.Errorf("offset %d has epoch %d, want %d", at, got, want)
		}
	}
	found, ok, err := b.log.OffsetForTimestamp(1500, b.log.EndOffset())
	if err != nil || !ok || found != (TimeOffset{Offset: 2, Timestamp: 2000, Epoch: 3}) {
		t.Errorf("%+v %v %v", found, ok, err)
	}
	if _, err := b.log.Append(plain(1, 1, 1), 7, AppendInfo{}); err == nil {
		t.Error("an epoch went back")
	}
}

// TestEpochIsOnDiskWithItsFirstBatch holds that an epoch which is only in memory is
// written by whatever comes first: its batch or a Sync.
func TestEpochIsOnDiskWithItsFirstBatch(t *testing.T) {
	for name, write := range map[string]func(*bench) error{
		"append": func(b *bench) error { b.append(plain(1, 10, 1), 5); return nil },
		"sync":   func(b *bench) error { _, err := b.log.Sync(); return err },
		"start over": func(b *bench) error { // the epoch is forgotten with the data, and begins anew
			err := b.log.TruncateFullyAndStartAt(2)
			b.append(plain(1, 10, 1), 5)
			return err
		},
	} {
		b := newBench(t, vfs.NewMem(), nil)
		b.append(plain(2, 10, 1), 3)
		if err := b.log.AssignEpoch(5, 2); err != nil {
			t.Fatal(err)
		}
		file := b.opts.Dir + "/" + epochFile
		if got, err := vfs.ReadFile(b.fs, file, 100); err != nil || string(got) != "0\n1\n3 0\n" {
			t.Fatalf("%s: the epochs on disk are %q, %v before there is data", name, got, err)
		}
		if err := write(b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := "0\n2\n3 0\n5 2\n"
		if name == "start over" {
			want = "0\n1\n5 2\n"
		}
		if got, err := vfs.ReadFile(b.fs, file, 100); err != nil || string(got) != want {
			t.Errorf("%s: the epochs on disk are %q, %v", name, got, err)
		}
	}
}

func TestGarbageEpochFileIsReadFromTheBatches(t *testing.T) { // LOG-06
	for _, garbage := range []string{"", "\x00\x00\x00", "0\n3\n1 1\n", "0\n1\n5 x\n", "1\n0\n", "0\n2\n5 9\n4 10\n", "0\n-1\n"} {
		b := newBench(t, vfs.NewMem(), nil)
		b.append(plain(2, 10, 1), 1)
		b.append(plain(2, 10, 1), 6)
		if err := b.log.Close(true); err != nil {
			t.Fatal(err)
		}
		if err := writeFile(b.fs, b.opts.Dir+"/"+epochFile, []byte(garbage)); err != nil {
			t.Fatal(err)
		}
		b.open(true)
		if e, end := b.log.EpochEnd(1); b.log.LatestEpoch() != 6 || e != 1 || end != 2 {
			t.Errorf("%q: latest %d, epoch %d ends at %d", garbage, b.log.LatestEpoch(), e, end)
		}
	}
}

// FuzzEpochCheckpoint checks that a checkpoint is refused, or understood and
// written the same again.
func FuzzEpochCheckpoint(f *testing.F) {
	for _, s := range []string{"0\n1\n0 1\n", "0\n0\n", "0\n2\n1 5\n9 20\n", "", "0\n1\n0 1", "0\n99999999999\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := parseEpochs(raw)
		if err != nil {
			return
		}
		again, err := parseEpochs(formatEpochs(list))
		if err != nil || !bytes.Equal(formatEpochs(again), formatEpochs(list)) {
			t.Fatalf("%q became %q: %v", raw, formatEpochs(list), err)
		}
	})
}
