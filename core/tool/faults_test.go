package tool

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// TestFaults fails every call to the file system once: that is an error, never a
// finding, and every file is closed.
func TestFaults(t *testing.T) {
	p := samplePartition(t)
	for name, run := range map[string]func(vfs.FS) error{
		"verify": func(fsys vfs.FS) error {
			r, err := Inspect(context.Background(), fsys, p.dir, InspectOptions{})
			if len(r.Findings) > 0 {
				t.Errorf("findings %v", r.Findings)
			}
			return err
		},
		"dump": func(fsys vfs.FS) error {
			return Dump(io.Discard, fsys, p.dir, DumpOptions{Data: true})
		},
	} {
		faults := int64(0)
		for ; ; faults++ {
			files := vfs.NewCounting(vfs.OS())
			err := run(errorfs.New(files, errorfs.Nth(faults, errorfs.Any)))
			if open := files.OpenFiles(); len(open) > 0 {
				t.Fatalf("%s, fault %d: open files %v", name, faults, open)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, errorfs.ErrInjected) {
				t.Fatalf("%s, fault %d: %v", name, faults, err)
			}
		}
		if faults < 30 {
			t.Errorf("%s ran clean after %d faults", name, faults)
		}
	}
}

// TestReadOnly: nothing is changed.
func TestReadOnly(t *testing.T) {
	p := samplePartition(t)
	files := vfs.NewCounting(vfs.OS())
	if _, err := Inspect(context.Background(), files, p.dir, InspectOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := Dump(io.Discard, files, p.dir, DumpOptions{}); err != nil {
		t.Fatal(err)
	}
	counts := files.Counts()
	for k := vfs.OpOpen; k <= vfs.OpUsage; k++ {
		if k.Changes() && counts.Of(k) > 0 {
			t.Errorf("%d times %s", counts.Of(k), k)
		}
	}
}
