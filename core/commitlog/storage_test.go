package commitlog

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mortisemq/mortise/core/internal/segment"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

func TestFullDiskStopsAppendsOnly(t *testing.T) { // LOG-12
	mem := vfs.NewMem()
	b := newBench(t, mem, nil)
	b.fill(10, 100)
	usage, err := mem.Usage("/")
	if err != nil {
		t.Fatal(err)
	}
	mem.SetCapacity(int64(usage.Total-usage.Available) + 50)
	batch := plain(1, 500, 5)
	_, err = b.log.Append(batch, 0, b.info(batch))
	if !errors.Is(err, ErrStorage) || !vfs.IsNoSpace(err) || !IsTransient(err) {
		t.Fatalf("append to a full disk: %v", err)
	}
	if first, last := span(t, b.all(1<<20)); first != 0 || last != 19 {
		t.Fatalf("read %d to %d on a full disk", first, last)
	}
	mem.SetCapacity(1 << 30)
	if at := b.append(batch, 0); at.Base != 20 {
		t.Fatalf("appended at %d once there was space, want 20", at.Base)
	}
	b.reopen(false)
	if _, last := span(t, b.all(1<<20)); last != 20 {
		t.Fatalf("read to %d after recovery", last)
	}
}

// A leader whose disk is full follows another one, and must drop what it has alone: that
// needs no room, or is tried again while the segment is read. Nothing that is cut comes
// back.
func TestFullDiskTruncates(t *testing.T) {
	for _, to := range []kafka.Offset{0, 54, 150, 199, 200} {
		var s errorfs.Switch
		b := newBench(t, errorfs.New(vfs.NewMem(), s.Inject), func(o *Options) { o.Config.SegmentBytes, o.Config.IndexIntervalBytes = 4000, 200 })
		b.fill(100, 40)
		b.append(plain(1, 10, 5), 7)
		if _, err := b.log.Sync(); err != nil {
			t.Fatal(err)
		}
		s.On(func(op vfs.Op) bool { return op.Kind == vfs.OpWrite }, unix.ENOSPC)
		read, err := b.log.Read(max(to-2, 0), ReadOptions{MaxBytes: 1 << 20, Upper: b.log.EndOffset()})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.log.Truncate(to); err != nil && (!errors.Is(err, ErrStorage) || !IsTransient(err)) {
			t.Fatalf("truncate to %d: %v", to, err)
		}
		read.Range.Release()
		if err := b.log.Truncate(to); err != nil || b.log.Failure() != nil {
			t.Fatalf("truncate to %d: %v, %v", to, err, b.log.Failure())
		}
		if got, want := b.log.EndOffset(), to&^1; got != want {
			t.Fatalf("truncate to %d: end %d, want %d", to, got, want)
		}
		batch := plain(2, 77, 1)
		if _, err := b.log.Append(batch, 7, b.info(batch)); !IsTransient(err) {
			t.Fatalf("append to a full disk: %v", err)
		}
		s.Off()
		b.append(plain(2, 77, 1), 8)
		b.append(plain(2, 77, 1), 9)
		for _, clean := range []bool{true, false} {
			b.reopen(clean)
			first, last := span(t, b.all(500))
			if first != 0 || last+1 != b.log.EndOffset() || last != to&^1+3 {
				t.Fatalf("after %d: read %d to %d of %d", to, first, last, b.log.EndOffset())
			}
			if e := b.log.EpochOf(to &^ 1); e != 8 || b.log.LatestEpoch() != 9 {
				t.Fatalf("after %d: epoch %d, the latest %d", to, e, b.log.LatestEpoch())
			}
		}
	}
}

// A full disk has no room for the epochs of a new leader: the batches are flushed, what is
// on the disk beside them is as it was, and once there is space all of it is there.
func TestFullDiskKeepsTheEpochsItHad(t *testing.T) {
	var s errorfs.Switch
	b := newBench(t, errorfs.New(vfs.NewMem(), s.Inject), nil)
	b.fill(3, 10)
	if _, err := b.log.Sync(); err != nil {
		t.Fatal(err)
	}
	b.append(plain(1, 10, 5), 7)
	s.On(func(op vfs.Op) bool { return op.Kind == vfs.OpWrite && strings.Contains(op.Name, epochFile) }, unix.ENOSPC)
	if at, err := b.log.Sync(); !vfs.IsNoSpace(err) || !errors.Is(err, ErrStorage) || at != 6 {
		t.Fatalf("flushed to %d, %v; want 6 and a full disk", at, err)
	}
	if err := b.log.Failure(); err != nil {
		t.Fatal(err)
	}
	b.append(plain(1, 10, 5), 7)
	s.Off()
	if at, err := b.log.Sync(); err != nil || at != b.log.EndOffset() {
		t.Fatalf("with space: flushed to %d, %v", at, err)
	}
	if got, err := vfs.ReadFile(b.fs, b.opts.Dir+"/"+epochFile, 100); err != nil || string(got) != "0\n2\n0 0\n7 6\n" {
		t.Errorf("epochs %q, %v", got, err)
	}
}

func TestFailedWriteThatCannotBeUndoneFailsTheLog(t *testing.T) {
	var s errorfs.Switch
	b := newBench(t, errorfs.New(vfs.NewMem(), s.Inject), nil)
	b.fill(3, 10)
	s.On(errorfs.Kinds(vfs.OpWrite, vfs.OpTruncate), errors.New("broken"))
	batch := plain(1, 10, 5)
	if _, err := b.log.Append(batch, 0, b.info(batch)); !errors.Is(err, ErrStorage) {
		t.Fatalf("%v", err)
	}
	s.Off()
	if _, err := b.log.Append(batch, 0, b.info(batch)); !errors.Is(err, ErrStorage) {
		t.Fatalf("appended behind what may be half a batch: %v", err)
	}
}

func TestFailedSyncIsNeverForgotten(t *testing.T) {
	var s errorfs.Switch
	b := newBench(t, errorfs.New(vfs.NewMem(), s.Inject), nil)
	b.fill(3, 10)
	s.On(errorfs.Kinds(vfs.OpSyncData), errors.New("broken"))
	if at, err := b.log.Sync(); !errors.Is(err, ErrStorage) || at != 0 {
		t.Fatalf("%d %v", at, err)
	}
	s.Off()
	batch := plain(1, 10, 5)
	_, appendErr := b.log.Append(batch, 0, b.info(batch))
	_, syncErr := b.log.Sync()
	_, readErr := b.log.Read(0, ReadOptions{MaxBytes: 10, Upper: 6})
	for _, err := range []error{appendErr, syncErr, readErr} {
		if !errors.Is(err, ErrStorage) {
			t.Fatalf("after a failed fsync: %v", err)
		}
	}
	if b.log.RecoveryPoint() != 0 {
		t.Fatalf("recovery point %d", b.log.RecoveryPoint())
	}
}

func TestDamageBelowTheRecoveryPointIsRefused(t *testing.T) {
	mem := vfs.NewMem()
	b := newBench(t, mem, nil)
	b.fill(20, 50)
	if _, err := b.log.Sync(); err != nil {
		t.Fatal(err)
	}
	b.fill(5, 50)
	b.opts.RecoveryPoint = b.log.RecoveryPoint()
	_ = b.log.Close(false)
	name := b.opts.Dir + "/" + segment.Name(0, segment.Log)
	flip(t, mem, name, -300) // above the recovery point
	b.open(false)
	if end := b.log.EndOffset(); end < 40 || end >= 50 {
		t.Fatalf("end %d: the torn tail was above offset 40", end)
	}
	_ = b.log.Close(false)
	b.opts.RecoveryPoint = 40
	flip(t, mem, name, 100)
	if _, err := Open(t.Context(), b.opts); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "at byte 0") {
		t.Fatalf("damage in flushed data: %v", err)
	}
}

// flip changes a byte of a file; a negative position counts from the end.
func flip(t *testing.T, fsys vfs.FS, name string, at int64) {
	t.Helper()
	b, err := vfs.ReadFile(fsys, name, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += int64(len(b))
	}
	b[at] ^= 1
	if err := writeFile(fsys, name, b); err != nil {
		t.Fatal(err)
	}
}

func TestGarbageIndexIsBuiltAgain(t *testing.T) { // LOG-07
	for _, ext := range []segment.Ext{segment.Index, segment.TimeIndex} {
		for _, garbage := range []string{"", "x", strings.Repeat("\xff", 96), strings.Repeat("\x00", 96), strings.Repeat("\x00\x00\x00\x09", 48)} {
			mem := vfs.NewMem()
			b := newBench(t, mem, func(o *Options) { o.Config.SegmentBytes, o.Config.IndexIntervalBytes = 8000, 300 })
			b.fill(100, 50)
			want := string(b.all(1 << 20))
			if err := b.log.Close(true); err != nil {
				t.Fatal(err)
			}
			b.opts.RecoveryPoint = b.log.RecoveryPoint()
			for _, s := range b.log.Segments() {
				if err := writeFile(mem, b.opts.Dir+"/"+segment.Name(s.Base, ext), []byte(garbage)); err != nil {
					t.Fatal(err)
				}
			}
			for _, clean := range []bool{true, false} {
				b.open(clean)
				if got := string(b.all(700)); got != want {
					t.Fatalf("%s of %q, clean %v: read other bytes", ext, garbage, clean)
				}
				if at, ok, err := b.log.OffsetForTimestamp(150, 200); err != nil || !ok || at.Timestamp != 150 {
					t.Fatalf("%s of %q, clean %v: %+v %v %v", ext, garbage, clean, at, ok, err)
				}
				_ = b.log.Close(false)
			}
		}
	}
}

func TestLeftoversOfACrashAreTidiedUp(t *testing.T) {
	mem := vfs.NewMem()
	b := newBench(t, mem, nil)
	b.fill(5, 50)
	if err := b.log.Close(true); err != nil {
		t.Fatal(err)
	}
	data, err := vfs.ReadFile(mem, b.opts.Dir+"/"+segment.Name(0, segment.Log), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		segment.Name(0, segment.Log) + segment.Swap:       data[:len(data)/5*2],
		segment.Name(0, segment.Index) + segment.Swap:     nil,
		segment.Name(0, segment.TimeIndex) + segment.Swap: nil,
		segment.Name(700, segment.Log) + segment.Cleaned:  data,
		segment.Name(3, segment.Log) + segment.Deleted:    data,
		epochFile + ".tmp": []byte("0"),
	} {
		if err := writeFile(mem, b.opts.Dir+"/"+name, content); err != nil {
			t.Fatal(err)
		}
	}
	b.open(false)
	if names := b.names(); strings.Contains(names, segment.Swap) || strings.Contains(names, segment.Cleaned) ||
		strings.Contains(names, segment.Deleted) || strings.Contains(names, "tmp") {
		t.Fatalf("left: %s", names)
	}
	if end := b.log.EndOffset(); end != 4 {
		t.Fatalf("end %d, the swapped file ends at 4", end)
	}
}

func TestStaleFileThatStaysIsTriedAgain(t *testing.T) { // LOG-10
	var s errorfs.Switch
	b := newBench(t, errorfs.New(vfs.NewMem(), s.Inject), nil)
	b.fill(5, 50)
	if err := b.log.Close(true); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(b.fs, b.opts.Dir+"/"+segment.Name(3, segment.Log)+segment.Deleted, nil); err != nil {
		t.Fatal(err)
	}
	s.On(errorfs.Kinds(vfs.OpRemove), errors.New("busy"))
	b.open(true)
	b.fill(1, 50)
	s.Off()
	b.clock.Advance(removeRetry)
	if strings.Contains(b.names(), segment.Deleted) {
		t.Fatalf("left: %s", b.names())
	}
}

func TestTimestampLookups(t *testing.T) { // OFFS-01 and OFFS-02, protocol 3.5, 47
	for _, codec := range []record.Codec{record.None, record.Gzip, record.LZ4, record.Zstd, record.Snappy} {
		b := newBench(t, vfs.NewMem(), func(o *Options) { o.Config.SegmentBytes = 400 })
		for _, ts := range []int64{2, 4, 6, 8} {
			w := record.NewBuilder(record.PlainOptions(codec))
			w.Append(ts, nil, []byte(strings.Repeat("v", 200)), nil)
			b.append(w.Bytes(), 0)
		}
		for ask, want := range map[int64]kafka.Offset{0: 0, 2: 0, 3: 1, 5: 2, 7: 3, 8: 3, 9: -1} {
			got, ok, err := b.log.OffsetForTimestamp(ask, 4)
			if err != nil || ok != (want >= 0) || ok && got.Offset != want {
				t.Errorf("%v, time %d: %+v %v %v, want %d", codec, ask, got, ok, err, want)
			}
		}
		if _, ok, _ := b.log.OffsetForTimestamp(8, 3); ok {
			t.Errorf("%v: found what is not committed", codec)
		}
		if top, ok, err := b.log.MaxTimestampOffset(4); err != nil || !ok || top.Offset != 3 || top.Timestamp != 8 {
			t.Errorf("%v: largest %+v %v %v", codec, top, ok, err)
		}
	}
}

func TestOneBatchHoldsSeveralTimes(t *testing.T) {
	b := newBench(t, vfs.NewMem(), nil)
	w := record.NewBuilder(record.PlainOptions(record.Zstd))
	for _, ts := range []int64{50, 10, 70, 30} { // not in the order of their times
		w.Append(ts, nil, nil, nil)
	}
	b.append(w.Bytes(), 0)
	for ask, want := range map[int64]kafka.Offset{5: 0, 50: 0, 51: 2, 70: 2} {
		if got, ok, err := b.log.OffsetForTimestamp(ask, 4); err != nil || !ok || got.Offset != want {
			t.Errorf("time %d: %+v %v %v, want %d", ask, got, ok, err, want)
		}
	}
	if top, ok, _ := b.log.MaxTimestampOffset(4); !ok || top.Offset != 2 {
		t.Errorf("largest: %+v", top)
	}
}
