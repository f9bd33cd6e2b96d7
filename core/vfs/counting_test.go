package vfs

import (
	"os"
	"slices"
	"testing"
)

func TestCounting(t *testing.T) {
	c := NewCounting(NewMem())
	f := create(t, c, "f", "12345")
	before := c.Counts()
	_, err := f.WriteAt([]byte("abc"), 5)
	must(t, err, f.SyncData())
	d := c.Counts().Sub(before)
	if d.Of(OpWrite) != 1 || d.WriteBytes != 3 || d.Syncs() != 1 || d.Of(OpOpen) != 0 {
		t.Errorf("%+v", d)
	}
	if open := c.OpenFiles(); !slices.Equal(open, []string{"f"}) {
		t.Errorf("open: %v", open)
	}
	must(t, f.Close())
	if open := c.OpenFiles(); len(open) != 0 {
		t.Errorf("open: %v", open)
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	c := NewCounting(OS())
	f, err := c.OpenFile(t.TempDir()+"/f", os.O_RDWR|os.O_CREATE, 0o644)
	must(t, err)
	defer f.Close()
	b := make([]byte, 100)
	if n := testing.AllocsPerRun(50, func() {
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWriteFileAtomicLeavesNoPart(t *testing.T) {
	m := NewMem()
	must(t, WriteFileAtomic(m, "f", []byte("one")))
	var disks []*Mem
	m.OnOp(func(Op) { disks = append(disks, m.Crash(CrashOptions{})) })
	must(t, WriteFileAtomic(m, "f", []byte("two")))
	m.OnOp(nil)
	disks = append(disks, m.Crash(CrashOptions{}))
	for i, d := range disks {
		if got := content(t, d, "f"); got != "one" && got != "two" {
			t.Errorf("crash %d leaves %q", i, got)
		}
	}
	if got := content(t, disks[len(disks)-1], "f"); got != "two" {
		t.Errorf("at the end %q", got)
	}
}
