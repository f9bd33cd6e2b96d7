package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// TestCopyRunsWhileOthersFork: nobody may write to a copy that is run, not even a child
// that was forked while the copy was made and has not run its own program yet.
func TestCopyRunsWhileOthersFork(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/true\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := openProgram(Command{Path: script})
	if err != nil {
		t.Fatal(err)
	}
	defer p.file.Close() //nolint:errcheck // it was only read
	var all sync.WaitGroup
	for starter := range 4 {
		all.Go(func() {
			for n := range 50 {
				path := filepath.Join(dir, fmt.Sprint(starter, "-", n))
				if err := p.copyTo(path, [32]byte{}); err != nil {
					t.Error(err)
					return
				}
				if err := exec.Command(path).Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
