package reconcile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// A log that could not be opened is tried again with the next image. A partition
// whose data may be on a missing disk is not made anew by that, however often its
// topic is looked at.
func TestTryingAgainMakesNothingAnew(t *testing.T) {
	b := newBroker(t)
	other := t.TempDir()
	b.moreDirs = []string{other}
	var bad atomic.Pointer[func(vfs.Op) error]
	b.fs.FS = errorfs.New(vfs.OS(), func(op vfs.Op) error {
		if f := bad.Load(); f != nil {
			return (*f)(op)
		}
		return nil
	})
	b.start()
	two := topic("t", 2)
	one := &meta.Topic{Name: two.Name, ID: two.ID, Partitions: two.Partitions[:1]}
	b.change(func(e *meta.Edit) { e.PutTopic(one) }) // one after the other, so that each gets a directory of its own
	b.change(func(e *meta.Edit) { e.PutTopic(two) })
	for n := range int32(2) {
		if out := b.append("t", n); out.Code != kafka.None {
			t.Fatal(out.Code)
		}
	}
	homes := map[string]string{"t-0": b.root, "t-1": other}
	if _, err := os.Stat(filepath.Join(b.root, "t-0")); err != nil {
		homes = map[string]string{"t-0": other, "t-1": b.root}
	}
	b.stop(true)

	faults := func(op vfs.Op) error {
		switch {
		case op.Name == homes["t-1"] || strings.HasPrefix(op.Name, homes["t-1"]+"/"):
			return syscall.EIO
		case strings.HasPrefix(op.Name, filepath.Join(homes["t-0"], "t-0")):
			return syscall.EMFILE
		}
		return nil
	}
	bad.Store(&faults)
	b.start()
	bad.Store(nil)
	for range 2 {
		b.change(func(e *meta.Edit) { e.PutTopic(topic("u"+kafka.NewTopicID().String(), 1)) })
	}
	p, _ := b.roles.ByName("t", 0)
	if p == nil || p.Offline() != nil || p.EndOffset() != 1 {
		t.Errorf("t-0 is not back with its record: %+v", p)
	}
	p, _ = b.roles.ByName("t", 1)
	if p == nil || !errors.Is(p.Offline(), logdir.ErrOffline) {
		t.Errorf("t-1 is %+v, want offline as its directory is", p)
	}
	if _, err := os.Stat(filepath.Join(homes["t-0"], "t-1")); err == nil {
		t.Error("t-1 was made anew on the disk that is left")
	}
	b.stop(true)
}
