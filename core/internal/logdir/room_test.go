package logdir

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/vfs"
)

// roomRig is a directory on a disk in memory, and what was told of it.
type roomRig struct {
	t          *testing.T
	clock      *clock.Manual
	disk       *vfs.Mem
	set        *Set
	dir        *Dir
	full, room int
}

func newRoomRig(t *testing.T) *roomRig {
	o := options("/data")
	r := &roomRig{t: t, clock: o.Clock.(*clock.Manual), disk: vfs.NewMem()}
	o.FS = r.disk
	o.OnFull = func(*Dir) { r.full++ }
	o.OnRoom = func(*Dir) { r.room++ }
	r.set = mustOpen(t, o)
	r.dir = r.set.Dirs()[0]
	return r
}

// refuse has an append find no space.
func (r *roomRig) refuse() { r.dir.Failed("append", syscall.EDQUOT) }

// is checks what the directory is, and how often that it has room was told.
func (r *roomRig) is(full bool, room int) {
	r.t.Helper()
	if r.dir.Full() != full || r.set.Full() != full || r.room != room {
		r.t.Fatalf("full %v, of the set %v, room was told %d times; want %v and %d", r.dir.Full(), r.set.Full(), r.room, full, room)
	}
}

// A directory is full from the first refusal until nothing was refused for a while,
// however often an append fits in between. A quota is such a case: the file system says
// that there is plenty.
func TestFullEndsWhenNothingIsRefused(t *testing.T) {
	r := newRoomRig(t)
	r.is(false, 0)
	for range 5 {
		r.refuse()
		r.dir.Appended()
		r.clock.Advance(roomAfter - time.Millisecond)
		r.is(true, 0)
	}
	if looks := int(5 * roomAfter / roomEvery); r.full < looks/2 || r.full > looks+1 {
		t.Errorf("told %d times that it is full", r.full)
	}
	r.clock.Advance(roomEvery)
	r.is(false, 1)
	full := r.full
	r.clock.Advance(time.Minute)
	if r.is(false, 1); r.full != full {
		t.Error("told that it is full when it is not")
	}
	r.refuse()
	if r.is(true, 1); r.full != full+1 {
		t.Error("not told that it is full again")
	}
}

// A few free bytes are no room.
func TestFullEndsWhenThereIsPlenty(t *testing.T) {
	r := newRoomRig(t)
	r.disk.SetCapacity(roomBytes)
	u, err := r.dir.Usage()
	if err != nil {
		t.Fatal(err)
	}
	leaves := u.Total/roomShare - 1
	f, err := r.disk.OpenFile("/other", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, u.Available-leaves), 0); err != nil {
		t.Fatal(err)
	}
	r.refuse()
	r.clock.Advance(time.Minute)
	r.is(true, 0)
	if err := errors.Join(f.Close(), r.disk.Remove("/other")); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(roomEvery)
	r.is(false, 1)
}

// A directory that fails is not full, and nothing is told after the end.
func TestFullEndsWithTheDirectory(t *testing.T) {
	r := newRoomRig(t)
	r.refuse()
	r.dir.Failed("read", errors.New("broken"))
	r.is(false, 0)
	r.refuse()
	r.is(false, 0)
	r.clock.Advance(time.Minute)
	r.is(false, 0)

	r = newRoomRig(t)
	r.refuse()
	if err := r.set.Close(true, 1); err != nil {
		t.Fatal(err)
	}
	full := r.full
	r.clock.Advance(time.Minute)
	if r.room != 0 || r.full != full {
		t.Errorf("told after the end: full %d times, room %d", r.full-full, r.room)
	}
}
