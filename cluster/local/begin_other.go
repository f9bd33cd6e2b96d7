//go:build !linux

package local

import (
	"os/exec"
	"syscall"
)

// begin starts a command in a process group of its own, so that a signal from the
// terminal reaches this process first. wait waits for its end.
func begin(cmd *exec.Cmd) (wait func() error, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return cmd.Wait, nil
}
