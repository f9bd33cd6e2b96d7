package pluginhost

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/mortisemq/mortise/core/vfs"
)

// runPrefix begins the name of each Host's directory; runLock is the file in it that
// is locked while its Host lives. Both together tell it from what people, and other
// parts of Mortise, keep in a directory for temporary files.
const (
	runPrefix = "mortise-run-"
	runLock   = "lock"
)

// runDirTries is how often a directory is made before another Host's sweep is taken
// for something worse.
const runDirTries = 3

// runDir is where the processes of one Host have their private directories. A broker
// that was killed leaves its own behind; the next one that starts removes it. It is
// made when a process is started first.
type runDir struct {
	under string // empty: the system's directory for temporary files

	mu     sync.Mutex // held over the making of directories
	path   string     // empty: not made yet; guarded by mu
	lock   io.Closer  // guarded by mu
	closed bool       // guarded by mu
}

// open is the directory, made if need be.
func (d *runDir) open() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return "", ErrClosed
	case d.path != "":
		return d.path, nil
	}
	if d.under == "" {
		d.under = os.TempDir()
	}
	d.sweep()
	var err error
	for range runDirTries {
		if err = d.make(); err == nil {
			return d.path, nil
		}
	}
	return "", fmt.Errorf("directory for plugins: %w", err)
}

// make makes and locks it. Caller holds mu.
func (d *runDir) make() error {
	path, err := os.MkdirTemp(d.under, runPrefix)
	if err != nil {
		return err
	}
	lock, err := vfs.OS().Lock(filepath.Join(path, runLock), []byte(strconv.Itoa(os.Getpid())))
	if err != nil { // another Host took it for a dead one's, before it was locked
		return errors.Join(err, os.RemoveAll(path))
	}
	if err := os.Chmod(path, 0o711); err != nil { // a process of another user must get through
		return errors.Join(err, os.RemoveAll(path), lock.Close())
	}
	d.path, d.lock = path, lock
	return nil
}

// sweep removes the directories of Hosts that live no more. What has no lock file is
// somebody else's, or was not locked yet, and stays, as does what can't be removed: it
// is in nobody's way. Caller holds mu.
func (d *runDir) sweep() {
	entries, err := os.ReadDir(d.under)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), runPrefix) {
			continue
		}
		path := filepath.Join(d.under, e.Name())
		if at, err := os.Lstat(filepath.Join(path, runLock)); err != nil || !at.Mode().IsRegular() {
			continue // taking the lock would make the file
		}
		lock, err := vfs.OS().Lock(filepath.Join(path, runLock), nil)
		if err != nil {
			continue // it lives
		}
		_ = os.RemoveAll(path)
		_ = lock.Close()
	}
}

// close removes it for good.
func (d *runDir) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.path == "" {
		return nil
	}
	err := errors.Join(os.RemoveAll(d.path), d.lock.Close())
	d.path = ""
	return err
}
