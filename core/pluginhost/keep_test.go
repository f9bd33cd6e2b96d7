package pluginhost

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestRollbackOfAProgramThatWasOverwritten builds each version of a program over the one
// before, as its author does, and goes back after the bake time: the copy that was kept
// runs. Without one the rollback changes nothing and says why. What nobody can go back to
// is not kept.
func TestRollbackOfAProgramThatWasOverwritten(t *testing.T) {
	t.Parallel()
	keep, path := filepath.Join(t.TempDir(), "plugins"), filepath.Join(t.TempDir(), "program")
	own, _ := self()
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	build := func() Spec { // another one each time
		text = append(text, 0)
		syscall.ForkLock.RLock() // a program that another test starts meanwhile would have it open, too, and it could not be run
		err := os.WriteFile(path+".new", text, 0o755)
		syscall.ForkLock.RUnlock()
		if err := errors.Join(err, os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
		s, sum := badSpec(plugin.Partitioner, "", badConfig{}), sha256.Sum256(text)
		s.Path, s.SHA256 = path, map[string]string{Platform(): hex.EncodeToString(sum[:])}
		return s
	}
	w := realWorld(t, Options{Keep: keep, Bake: -1})
	isKept := func(specs ...Spec) {
		t.Helper()
		w.until("kept are as many as can be needed", func(Status) bool {
			for i := range specs {
				if _, err := os.Stat(w.kept.path(&specs[i])); err != nil {
					return false
				}
			}
			files, _ := os.ReadDir(keep)
			return len(files) == len(specs)
		})
	}
	one := build()
	w.must(one)
	isKept(one)
	two := build()
	w.must(two)
	isKept(one, two)
	back, err := w.Rollback(t.Context(), "p")
	if err != nil || !back.same(&one) {
		t.Fatalf("rollback: %v, to %v", err, back.SHA256)
	}
	if s := w.Status()[0]; s.Generation != 3 || s.Reason != "" || w.ask(t.Context(), plugin.Partitioner) != nil {
		t.Errorf("after the rollback: %+v", s)
	}
	three := build()
	w.must(three)
	isKept(one, three)
	if err := os.RemoveAll(keep); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Rollback(t.Context(), "p"); !errors.Is(err, host.ErrDigest) {
		t.Errorf("rollback without a copy: %v, want ErrDigest", err)
	}
	if s := w.Status()[0]; s.Reason != "" || w.ask(t.Context(), plugin.Partitioner) != nil {
		t.Errorf("after a rollback that could not be: %+v", s)
	}
	w.must(three) // the catalogue is as it was
	w.must(build())
	w.Apply(t.Context(), nil)
	if files, _ := os.ReadDir(keep); len(files) > 0 {
		t.Errorf("%d programs are kept of an entry that is gone", len(files))
	}
}
