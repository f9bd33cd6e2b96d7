package errorfs

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mortisemq/mortise/core/vfs"
)

func TestNthFailsOnce(t *testing.T) {
	fsys := New(vfs.NewMem(), Nth(1, Path("f", vfs.OpWrite)))
	f, err := fsys.OpenFile("f", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []bool
	for i := range 3 {
		_, err := f.WriteAt([]byte("x"), int64(i))
		got = append(got, errors.Is(err, ErrInjected))
	}
	if got[0] || !got[1] || got[2] {
		t.Errorf("writes failed: %v, want only the second", got)
	}
	if size, _ := f.Size(); size != 3 {
		t.Errorf("size %d: the failed write must not have happened, the third must", size)
	}
}

func TestSwitch(t *testing.T) {
	var s Switch
	fsys := New(vfs.NewMem(), s.Inject)
	s.On(Kinds(vfs.OpMkdir), unix.ENOSPC)
	if err := fsys.MkdirAll("d", 0o755); !vfs.IsNoSpace(err) {
		t.Errorf("%v, want no space", err)
	}
	s.Off()
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Error(err)
	}
}
