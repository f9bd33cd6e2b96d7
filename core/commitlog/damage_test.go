package commitlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/vfs"
)

// damaged is a log that was synced, to be copied and damaged.
type damaged struct {
	*rig
	disk *vfs.Mem
	last string // the active segment's file
	tail int    // index in current of its first batch
}

// newDamaged writes a log of several segments and epochs. Clean tells how it ends.
func newDamaged(t *testing.T, clean bool) *damaged {
	t.Helper()
	d := &damaged{disk: newMem(t)}
	d.rig = newRig(d.disk, 5)
	steps := []step{{"", func(r *rig) error { return r.open(false) }}, appends(14), {"", (*rig).nextEpoch}, appends(14), {"", (*rig).sync}}
	for _, s := range steps {
		if err := s.do(d.rig); err != nil {
			t.Fatal(err)
		}
	}
	list := d.log.Segments()
	if len(list) < 3 {
		t.Fatalf("only %d segments", len(list))
	}
	base := list[len(list)-1].Base
	d.last = fmt.Sprintf("%s/%020d.log", logDir, base)
	d.tail = slices.IndexFunc(d.current, func(b record.Batch) bool { return b.BaseOffset() >= base })
	if err := d.log.Close(clean); err != nil {
		t.Fatal(err)
	}
	return d
}

// copy is the disk and what it owes, both to be changed freely.
func (d *damaged) copy() (*vfs.Mem, *promise) {
	return d.disk.Crash(vfs.CrashOptions{KeepUnsynced: 1}), d.promise.clone()
}

// edit changes a file's content.
func edit(fsys vfs.FS, name string, change func([]byte) []byte) error {
	b, err := vfs.ReadFile(fsys, name, 1<<20)
	if err != nil {
		return err
	}
	b = change(slices.Clone(b))
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Close())
}

// flip turns one bit over.
func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte {
		b[at] ^= 1 << (at % 8)
		return b
	}
}

// TestTornTail cuts the last segment at every byte. All whole batches must stay:
// losing one more would lose what a client was told is written.
func TestTornTail(t *testing.T) {
	d := newDamaged(t, false)
	size := 0
	for _, b := range d.current[d.tail:] {
		size += len(b)
	}
	for cut := range size {
		disk, owed := d.copy()
		if err := edit(disk, d.last, func(b []byte) []byte { return b[:cut] }); err != nil {
			t.Fatal(err)
		}
		owed.to = d.current[d.tail].BaseOffset()
		for _, b := range d.current[d.tail:] {
			if cut -= len(b); cut < 0 {
				break
			}
			owed.to = b.NextOffset()
		}
		if err := owed.verify(options(disk, d.clock, kafka.NoOffset, kafka.NoOffset)); err != nil {
			t.Errorf("cut to %d bytes before the end: %v", cut, err)
		}
	}
}

// uncovered tells whether a byte of a batch is outside of its checksum, as Kafka's
// format has it: base offset and leader epoch.
func uncovered(at int) bool { return at < 8 || at >= 12 && at < 16 }

// TestFlippedBit turns over a bit in every byte of the last segment. What comes
// before stays; the damaged batch and all behind it are cut off.
func TestFlippedBit(t *testing.T) {
	d := newDamaged(t, false)
	at := 0
	for i, b := range d.current[d.tail:] {
		for j := range b {
			if uncovered(j) {
				continue
			}
			disk, owed := d.copy()
			if err := edit(disk, d.last, flip(at+j)); err != nil {
				t.Fatal(err)
			}
			owed.to, owed.current = b.BaseOffset(), owed.current[:d.tail+i]
			owed.written[b.BaseOffset()] = nil // the damaged one must not be there
			if err := owed.verify(options(disk, d.clock, kafka.NoOffset, kafka.NoOffset)); err != nil {
				t.Errorf("byte %d of batch %d: %v", j, b.BaseOffset(), err)
			}
		}
		at += len(b)
	}
}

// TestDamageBelowRecoveryPoint is refused: cutting it off would lose data that was
// on the disk, and nothing on the disk may be changed by the refusal.
func TestDamageBelowRecoveryPoint(t *testing.T) {
	d := newDamaged(t, false)
	disk, _ := d.copy()
	if err := edit(disk, d.last, flip(record.HeaderSize+1)); err != nil {
		t.Fatal(err)
	}
	before := dump(t, disk)
	_, err := commitlog.Open(t.Context(), options(disk, d.clock, d.to, kafka.NoOffset))
	if !errors.Is(err, commitlog.ErrCorrupt) || !strings.Contains(err.Error(), path.Base(d.last)) {
		t.Errorf("error %v, want ErrCorrupt with the file's name", err)
	}
	if after := dump(t, disk); before != after {
		t.Errorf("the refusal changed the disk from\n%s to\n%s", before, after)
	}
}

// dump is a folder's names and contents.
func dump(t *testing.T, fsys vfs.FS) string {
	t.Helper()
	var b bytes.Buffer
	for _, name := range names(t, fsys) {
		content, err := vfs.ReadFile(fsys, name, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %x\n", name, content)
	}
	return b.String()
}

// names lists a log's files.
func names(t *testing.T, fsys vfs.FS) (list []string) {
	t.Helper()
	entries, err := fsys.ReadDir(logDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, path.Join(logDir, e.Name()))
	}
	return list
}

// TestDamagedSideFiles breaks every file but the data in many ways (LOG-06,
// LOG-07). All of them can be made again from the data, so when all data is read
// after an unclean stop, nothing may be wrong.
func TestDamagedSideFiles(t *testing.T) {
	d := newDamaged(t, true)
	d.eachHarm(t, func(name, what string, disk *vfs.Mem, owed *promise) {
		if strings.HasSuffix(name, "leader-epoch-checkpoint") && strings.HasPrefix(what, "bit") {
			return // Kafka's text has no checksum: another digit is another truth
		}
		if err := owed.verify(options(disk, d.clock, kafka.NoOffset, kafka.NoOffset)); err != nil && !refusedID(name, err) {
			t.Errorf("%s %s: %v", name, what, err)
		}
	})
}

// eachHarm calls f with a damaged copy of the disk for each file and each harm.
func (d *damaged) eachHarm(t *testing.T, f func(name, what string, disk *vfs.Mem, owed *promise)) {
	for _, name := range names(t, d.disk) {
		if strings.HasSuffix(name, ".log") {
			continue
		}
		for what, harm := range harms(t, d.disk, name) {
			disk, owed := d.copy()
			if err := harm(disk); err != nil {
				t.Fatal(err)
			}
			f(name, what, disk, owed)
		}
	}
}

// refusedID accepts that a bit of the topic id makes it another topic's.
func refusedID(name string, err error) bool {
	return strings.HasSuffix(name, "partition.metadata") && errors.Is(err, commitlog.ErrCorrupt)
}

// TestDamagedSideFilesThatAreTrusted does the same where they are trusted: after a
// clean stop, and below the recovery point. No read may answer with other data than
// was asked for, and nothing may panic.
func TestDamagedSideFilesThatAreTrusted(t *testing.T) {
	d := newDamaged(t, true)
	d.eachHarm(t, func(name, what string, disk *vfs.Mem, _ *promise) {
		for _, clean := range []bool{true, false} {
			if err := d.trusts(disk.Crash(vfs.CrashOptions{KeepUnsynced: 1}), clean); err != nil {
				t.Errorf("%s %s (clean: %v): %v", name, what, clean, err)
			}
		}
	})
}

// trusts opens a damaged disk with its recovery point at the end, and reads all.
func (d *damaged) trusts(disk *vfs.Mem, clean bool) error {
	o := options(disk, d.clock, d.to, kafka.NoOffset)
	o.Clean = clean
	l, err := commitlog.Open(context.Background(), o)
	if err != nil {
		return honest(err)
	}
	defer l.Close(false)
	for i, want := range d.current {
		got, _, err := readAt(l, want.LastOffset(), 1)
		if err := honest(err); err != nil {
			return err
		}
		if err == nil && !same(got, d.current[i:i+1]) {
			return fmt.Errorf("read at %d gave %s", want.LastOffset(), describe(got))
		}
		if _, _, err := l.OffsetForTimestamp(want.MaxTimestamp(), l.EndOffset()); honest(err) != nil {
			return err
		}
	}
	return nil
}

// honest lets errors pass that name damage.
func honest(err error) error {
	if err == nil || errors.Is(err, commitlog.ErrCorrupt) {
		return nil
	}
	return err
}

// harms are the ways in which a file is damaged.
func harms(t *testing.T, fsys vfs.FS, name string) map[string]func(vfs.FS) error {
	t.Helper()
	content, err := vfs.ReadFile(fsys, name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func([]byte) []byte) func(vfs.FS) error {
		return func(fsys vfs.FS) error { return edit(fsys, name, f) }
	}
	out := map[string]func(vfs.FS) error{
		"removed": func(fsys vfs.FS) error {
			if err := fsys.Remove(name); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		},
		"emptied":      change(func([]byte) []byte { return nil }),
		"cut in half":  change(func(b []byte) []byte { return b[:len(b)/2] }),
		"cut by one":   change(func(b []byte) []byte { return b[:max(0, len(b)-1)] }),
		"all zeros":    change(func(b []byte) []byte { clear(b); return b }),
		"all ones":     change(func(b []byte) []byte { return bytes.Repeat([]byte{0xff}, len(b)) }),
		"with a tail":  change(func(b []byte) []byte { return append(b, "some bytes that are not its own"...) }),
		"zeros behind": change(func(b []byte) []byte { return append(b, make([]byte, 4096)...) }),
	}
	for at := 0; at < len(content); at += 1 + len(content)/40 {
		out[fmt.Sprintf("bit flipped at %d", at)] = change(flip(at))
	}
	return out
}
