package vfs

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/seeded"
)

func create(t *testing.T, fsys FS, name string, content string) File {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		t.Fatal(err)
	}
	return f
}

// content is a file's content, or "-" when there is no such file.
func content(t *testing.T, fsys FS, name string) string {
	t.Helper()
	b, err := ReadFile(fsys, name, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCrashKeepsOnlyWhatWasSynced(t *testing.T) {
	m := NewMem()
	f := create(t, m, "a", "durable")
	must(t, f.Sync(), m.SyncDir("."))
	_, err := f.WriteAt([]byte(" lost"), 7)
	must(t, err)
	g := create(t, m, "b", "no entry")
	must(t, g.Sync()) // the bytes are durable, the name is not
	after := m.Crash(CrashOptions{})
	if got := content(t, after, "a") + "|" + content(t, after, "b"); got != "durable|-" {
		t.Errorf("after the crash %q", got)
	}
	if got := content(t, m.Crash(CrashOptions{KeepUnsynced: 1}), "a"); got != "durable lost" {
		t.Errorf("with everything kept %q", got)
	}
	if got := content(t, m, "a"); got != "durable lost" {
		t.Errorf("the disk itself has %q", got)
	}
}

func TestCrashRenameIsOneStep(t *testing.T) {
	m := NewMem()
	must(t, WriteFileAtomic(m, "f", []byte("old")))
	g := create(t, m, "f.tmp", "new")
	must(t, g.Sync(), m.Rename("f.tmp", "f"))
	for seed := range uint64(50) {
		after := m.Crash(CrashOptions{KeepUnsynced: 0.5, Rand: rand.New(rand.NewPCG(seed, 0))})
		if got := content(t, after, "f"); got != "old" && got != "new" {
			t.Fatalf("seed %d: %q", seed, got)
		}
	}
}

func TestCrashTearsAtSectors(t *testing.T) {
	m := NewMem()
	f := create(t, m, "f", "")
	must(t, f.Sync(), m.SyncDir("."))
	_, err := f.WriteAt(bytes.Repeat([]byte("x"), 10_000), 0)
	must(t, err)
	sizes := map[int]bool{}
	for seed := range uint64(100) {
		after := m.Crash(CrashOptions{KeepUnsynced: 0.9, Torn: true, Rand: rand.New(rand.NewPCG(seed, 0))})
		n := len(content(t, after, "f"))
		if n != 10_000 && n%sectorBytes != 0 {
			t.Fatalf("seed %d: torn at %d", seed, n)
		}
		sizes[n] = true
	}
	if len(sizes) < 5 {
		t.Errorf("only %d different tears", len(sizes))
	}
}

func TestCapacity(t *testing.T) {
	m := NewMem()
	m.SetCapacity(10)
	f := create(t, m, "f", "12345678")
	n, err := f.WriteAt([]byte("abcd"), 8)
	if n != 2 || !IsNoSpace(err) {
		t.Errorf("wrote %d, %v; want 2 and no space", n, err)
	}
	must(t, m.Remove("f"))
	if g := create(t, m, "g", "0123456789"); g == nil {
		t.Error("the space of a removed file did not come back")
	}
}

func TestOpenFileOutlivesItsName(t *testing.T) {
	m := NewMem()
	f := create(t, m, "f", "still here")
	must(t, m.Remove("f"))
	b := make([]byte, 5)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "still" {
		t.Errorf("%q, %v", b, err)
	}
	must(t, f.Close())
	if _, err := f.ReadAt(b, 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read of a closed file: %v", err)
	}
}

func TestLockNamesItsHolder(t *testing.T) {
	for name, fsys := range map[string]FS{"mem": NewMem(), "os": OS()} {
		file := ".lock"
		if name == "os" {
			file = t.TempDir() + "/.lock"
		}
		first, err := fsys.Lock(file, []byte("pid 7\n"))
		must(t, err)
		var held *LockedError
		if _, err := fsys.Lock(file, nil); !errors.As(err, &held) || held.Holder != "pid 7" {
			t.Errorf("%s: %v", name, err)
		}
		must(t, first.Close())
		again, err := fsys.Lock(file, nil)
		must(t, err)
		must(t, again.Close())
	}
}

// TestLockOnAFullDisk holds that a process can start where another one left its lock
// and no other room, and that a lock that could not be written is not held.
func TestLockOnAFullDisk(t *testing.T) {
	m := NewMem()
	first, err := m.Lock(".lock", []byte("pid 7\n"))
	must(t, err)
	must(t, first.Close())
	m.SetCapacity(6)
	if _, err := m.Lock(".lock", []byte("pid 12345\n")); !IsNoSpace(err) {
		t.Errorf("a lock that does not fit: %v", err)
	}
	second, err := m.Lock(".lock", []byte("pid 8\n"))
	must(t, err)
	must(t, second.Close())
	if got := content(t, m, ".lock"); got != "pid 8\n" {
		t.Errorf("the lock says %q", got)
	}
}

func TestOnOpSeesTheDiskBefore(t *testing.T) {
	m := NewMem()
	f := create(t, m, "f", "x")
	must(t, m.SyncDir("."))
	var before string
	m.OnOp(func(op Op) {
		if op.Kind == OpSync {
			before = content(t, m.Crash(CrashOptions{}), "f")
		}
	})
	must(t, f.Sync())
	m.OnOp(nil)
	if after := content(t, m.Crash(CrashOptions{}), "f"); before != "" || after != "x" {
		t.Errorf("before the sync %q, after it %q", before, after)
	}
}

// TestModel compares Mem with the operating system under random operations.
func TestModel(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		real, mem := OS(), NewMem()
		base, err := os.MkdirTemp(t.TempDir(), "m")
		must(t, err)
		names := []string{"a", "b", "d/a", "d/b", "d"}
		must(t, real.MkdirAll(base+"/d", 0o755), mem.MkdirAll("d", 0o755))
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				name, off := rapid.SampledFrom(names[:4]).Draw(rt, "name"), rapid.Int64Range(0, 50).Draw(rt, "off")
				data := rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(rt, "data")
				same(rt, writeAt(real, base+"/"+name, data, off), writeAt(mem, name, data, off))
			},
			"truncate": func(rt *rapid.T) {
				name, size := rapid.SampledFrom(names[:4]).Draw(rt, "name"), rapid.Int64Range(0, 60).Draw(rt, "size")
				same(rt, truncate(real, base+"/"+name, size), truncate(mem, name, size))
			},
			"remove": func(rt *rapid.T) {
				name := rapid.SampledFrom(names).Draw(rt, "name")
				same(rt, real.Remove(base+"/"+name), mem.Remove(name))
				must(t, real.MkdirAll(base+"/d", 0o755), mem.MkdirAll("d", 0o755))
			},
			"rename": func(rt *rapid.T) {
				from, to := rapid.SampledFrom(names[:4]).Draw(rt, "from"), rapid.SampledFrom(names[:4]).Draw(rt, "to")
				same(rt, real.Rename(base+"/"+from, base+"/"+to), mem.Rename(from, to))
			},
			"": func(rt *rapid.T) {
				for _, name := range names[:4] {
					if want, got := content(t, real, base+"/"+name), content(t, mem, name); got != want {
						rt.Fatalf("%s: %q, want %q", name, got, want)
					}
				}
			},
		})
	})
}

func same(rt *rapid.T, want, got error) {
	if (want == nil) != (got == nil) {
		rt.Fatalf("%v, the system says %v", got, want)
	}
}

func writeAt(fsys FS, name string, data []byte, off int64) error {
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(data, off)
	return err
}

func truncate(fsys FS, name string, size int64) error {
	f, err := fsys.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(size)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestCrashedDisksShareWhatIsTheSame holds that keeping many disks costs what differs,
// and that none sees what another writes.
func TestCrashedDisksShareWhatIsTheSame(t *testing.T) {
	m := NewMem()
	f := create(t, m, "f", "")
	_, err := f.WriteAt(bytes.Repeat([]byte("x"), 1<<20), 0)
	must(t, err, f.Sync(), m.SyncDir("."))
	var after *Mem
	per := testing.AllocsPerRun(10, func() { after = m.Crash(CrashOptions{}) })
	if per > 40 {
		t.Errorf("%v allocations for a disk with one file of 256 pages", per)
	}
	_, err = f.WriteAt([]byte("here"), 5000)
	must(t, err)
	g := create(t, after, "f", "there")
	must(t, g.Truncate(6000))
	if got := content(t, m, "f"); len(got) != 1<<20 || got[:5] != "xxxxx" || got[5000:5005] != "herex" {
		t.Errorf("the disk has %d bytes, %q", len(got), got[:5])
	}
	if got := content(t, after, "f"); len(got) != 6000 || got[:6] != "therex" || got[5000:5004] != "xxxx" {
		t.Errorf("the crashed disk has %d bytes, %q", len(got), got[:6])
	}
}

func TestImageIsLikeBytes(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		var image memImage
		var want []byte
		kept := map[*memImage][]byte{}
		size := rapid.Int64Range(0, 3*pageBytes)
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				off, p := size.Draw(t, "off"), bytes.Repeat([]byte{rapid.SampledFrom([]byte{0, 1, 2}).Draw(t, "byte")}, int(size.Draw(t, "n")))
				if len(p) > 0 {
					want = append(want, make([]byte, max(0, int(off)+len(p)-len(want)))...)
					copy(want[off:], p)
					writeOf(p, off).apply(&image)
				}
			},
			"resize": func(t *rapid.T) {
				n := size.Draw(t, "size")
				want = append(want, make([]byte, max(0, int(n)-len(want)))...)[:n]
				image.resize(n)
			},
			"keep": func(*rapid.T) {
				s := image.snapshot()
				kept[&s] = bytes.Clone(want)
			},
			"": func(t *rapid.T) {
				for i, want := range kept {
					sameBytes(t, i, want)
				}
				sameBytes(t, &image, want)
			},
		})
	})
}

// sameBytes compares an image with the bytes that it should be.
func sameBytes(t *rapid.T, i *memImage, want []byte) {
	got := make([]byte, i.size+10)
	if n := i.read(got, 0); n != len(want) || !bytes.Equal(got[:n], want) {
		t.Fatalf("%d bytes differ from the %d wanted", n, len(want))
	}
}
