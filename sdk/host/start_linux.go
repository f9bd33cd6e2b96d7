package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// begin binds the goroutine that will start a process to its thread and takes from the
// thread what the process must not have. The thread is never given back: the kernel
// kills the process when the thread that forked it ends (PR_SET_PDEATHSIG), and the
// thread ends with the goroutine.
func begin() {
	runtime.LockOSThread()
	// No set-uid program may give a plugin more rights. It can't fail on kernels that
	// Go runs on.
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	standBehind()
}

// niceness is how far processes stand behind the broker when processors are short: one
// that computes without an end gets a third of what a thread of the broker gets. Who
// mostly sleeps, as plugins do, is woken as soon as before.
const niceness = 5

// standBehind has the thread, and what it starts, stand behind the broker. Everybody may do
// that; where the system has no such thing, nothing is lost.
func standBehind() {
	if raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil { // 20 less the niceness
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, min(20-raw+niceness, 19))
	}
}

// isolate puts a process into a group of its own, ties its life to the broker's, and
// makes it another user.
func isolate(cmd *exec.Cmd, c Command) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if c.RunAs != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.RunAs.UID, Gid: c.RunAs.GID}
	}
	return nil
}

// limit sets the limits of a process that runs. Memory is RLIMIT_DATA, which counts
// what the process may write to: a Go program reserves gigabytes of addresses that it
// never uses, so RLIMIT_AS would refuse healthy ones. No core dumps: they hold secrets.
//
// Limits of another user's process need CAP_SYS_RESOURCE. Without it a start that
// asks for one of memory fails; core dumps and open files are then left to the system.
func limit(pid int, c Command) error {
	err := setLimit(pid, unix.RLIMIT_CORE, 0)
	if err == nil && c.NoFile > 0 {
		err = setLimit(pid, unix.RLIMIT_NOFILE, c.NoFile)
	}
	if errors.Is(err, unix.EPERM) && c.RunAs != nil {
		err = nil
	}
	if err == nil && c.MemoryMax > 0 {
		err = setLimit(pid, unix.RLIMIT_DATA, c.MemoryMax)
	}
	return err
}

// setLimit lowers a limit; one that is lower already stays.
func setLimit(pid, resource int, most uint64) error {
	var now unix.Rlimit
	err := unix.Prlimit(pid, resource, nil, &now)
	if err == nil {
		most = min(most, now.Max)
		err = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil)
	}
	if err == nil || errors.Is(err, unix.ESRCH) { // gone: reap says so
		return nil
	}
	return fmt.Errorf("limit %d of the plugin's process to %d: %w", resource, most, err)
}

// runnable is a path that runs the open file itself, whatever its name means now.
func runnable(f *os.File) (string, bool) {
	return fmt.Sprintf("/proc/self/fd/%d", f.Fd()), true
}

// reap waits for the end of the process, kills what it leaves of its group, and
// collects it. Until then it is a zombie, so that its number and its group's can't be
// another's.
func (r *process) reap() error {
	for errors.Is(unix.Waitid(unix.P_PID, r.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	r.kill()
	return r.collect()
}

// residentBytes is the second number of /proc/PID/statm, in pages.
func residentBytes(pid int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, resident uint64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, fmt.Errorf("/proc/%d/statm: %w", pid, err)
	}
	return resident * uint64(os.Getpagesize()), nil
}
