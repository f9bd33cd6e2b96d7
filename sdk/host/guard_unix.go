//go:build unix

package host

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// guardScript waits for its input to end, which is when the broker does, and kills a
// process group. $0 is the group's number.
const guardScript = `read -r nothing; kill -s KILL -- "-$0"`

// guard is a small process that outlives the broker: when the broker is killed the
// kernel kills a plugin (PR_SET_PDEATHSIG), but not what the plugin forked.
type guard struct {
	cmd   *exec.Cmd
	alive *os.File // its input, which only the broker holds open
}

// startGuard guards a process group. Where there is no shell there is no guard.
func startGuard(group int) *guard {
	shell, err := os.Stat("/bin/sh")
	if err != nil || shell.IsDir() {
		return nil
	}
	input, alive, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer input.Close()
	cmd := &exec.Cmd{
		Path: "/bin/sh", Args: []string{strconv.Itoa(group), "-c", guardScript, strconv.Itoa(group)}, Env: []string{}, Dir: "/", Stdin: input,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}, // a Ctrl-C for the broker is none for it
	}
	if err := cmd.Start(); err != nil {
		alive.Close()
		return nil
	}
	return &guard{cmd: cmd, alive: alive}
}

// release ends the guard; it then kills nobody.
func (g *guard) release() {
	if g == nil {
		return
	}
	_ = g.cmd.Process.Kill() // before its input ends
	_ = g.cmd.Wait()
	g.alive.Close()
}
