//go:build unix && !linux

package host

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// begin has nothing to do: only Linux ties processes to threads.
func begin() {}

// isolate puts a process into a group of its own and makes it another user. A broker
// that is killed leaves it running until it notices (package sdk looks at its parent).
func isolate(cmd *exec.Cmd, c Command) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.RunAs != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.RunAs.UID, Gid: c.RunAs.GID}
	}
	return nil
}

// limit can't be kept here, and a limit of memory that is not kept is worse than none.
func limit(_ int, c Command) error {
	if c.MemoryMax > 0 {
		return errors.New("limits of the memory of plugins are only on Linux")
	}
	return nil
}

// runnable has no path to an open file; a private copy runs.
func runnable(*os.File) (string, bool) { return "", false }

// reap waits for the end of the process and kills what it leaves of its group. In
// between its number could become another's, which only Linux can exclude.
func (r *process) reap() error {
	err := r.cmd.Wait()
	r.kill()
	r.mu.Lock()
	r.reaped = true
	r.mu.Unlock()
	return err
}

// residentBytes is not known here.
func residentBytes(int) (uint64, error) { return 0, errors.ErrUnsupported }
