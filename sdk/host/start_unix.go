//go:build unix

package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// killGroup kills a process and all of its group.
func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL) // gone already: what was wanted
	_ = syscall.Kill(pid, syscall.SIGKILL)  // not yet in its group
}

// giveAway makes the directories of a process that runs as another user: it may pass
// through base and owns dir.
func giveAway(base, dir string, to *User) error {
	if to == nil {
		return nil
	}
	if err := os.Chmod(base, 0o711); err != nil {
		return fmt.Errorf("plugin's directory: %w", err)
	}
	if err := os.Chown(dir, int(to.UID), int(to.GID)); err != nil {
		return fmt.Errorf("plugin's directory for uid %d: %w", to.UID, err)
	}
	return nil
}

// readNow reads what a pipe holds, without waiting and whatever its deadline; io.EOF: it
// holds nothing.
func readNow(pipe *os.File, b []byte) (n int, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlled := raw.Control(func(fd uintptr) {
		for n, err = syscall.Read(int(fd), b); errors.Is(err, syscall.EINTR); {
			n, err = syscall.Read(int(fd), b)
		}
	})
	if controlled != nil {
		return 0, controlled
	}
	if n <= 0 { // nobody holds the other end, or EAGAIN
		return 0, io.EOF
	}
	return n, nil
}
