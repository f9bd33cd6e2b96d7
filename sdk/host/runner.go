package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/mortisemq/mortise/sdk/internal/handshake"
)

// pipeGrace is how long output is still read after the process and its group are
// gone: a process that left the group may hold the pipe open for ever.
const pipeGrace = 200 * time.Millisecond

// process runs one program for go-plugin. It exists because go-plugin's own runner
// leaves orphans, kills one process only, hands over the broker's environment and
// standard input, dials whatever address the process prints, and parses its log
// lines in a way that panics. Here go-plugin sees of the output a checked handshake
// line and nothing else.
//
// One goroutine owns the process: it starts it, waits for it, kills what is left of
// its group and closes exited. Two more read the output until then.
type process struct {
	command Command
	program *program
	cmd     *exec.Cmd // set by prepare
	base    string    // the private directory; the process owns a directory inside
	dir     string    // that directory

	stdout, stderr   *io.PipeReader // what go-plugin reads
	line, lineOfLogs *io.PipeWriter // their other ends

	pace   *pace         // of those who read its output
	exited chan struct{} // closed when nothing of it is left
	wait   error         // why it ended; set before exited is closed

	mu     sync.Mutex
	pid    int             // guarded by mu; 0 until it runs
	owned  bool            // guarded by mu: own runs or ran, so exited will be closed
	doomed bool            // guarded by mu: killed, perhaps before it ran
	reaped bool            // guarded by mu: pid may be another's now
	socket string          // guarded by mu; the checked address
	fault  error           // guarded by mu: why the start is no good
	tail   strings.Builder // guarded by mu: the last output before the handshake

	stderrLock sync.Mutex // one call of command.Stderr at a time
}

func newProcess(c Command, p *program, base string) *process {
	r := &process{command: c, program: p, base: base, pace: newPace(), exited: make(chan struct{})}
	r.stdout, r.line = io.Pipe()
	r.stderr, r.lineOfLogs = io.Pipe()
	return r
}

// prepare gives the process its directory and what go-plugin wants in its environment.
func (r *process) prepare(dir string, protocol []string) error {
	r.dir = dir
	if err := giveAway(r.base, dir, r.command.RunAs); err != nil {
		return err
	}
	path := r.command.Path
	if r.command.Digest != [32]byte{} {
		var err error
		if path, err = r.pinned(); err != nil {
			return err
		}
	}
	r.cmd = &exec.Cmd{
		Path: path,
		Args: append([]string{r.command.Path}, r.command.Args...),
		Env:  environment(r.command, dir, protocol),
		Dir:  dir,
	}
	return isolate(r.cmd, r.command)
}

// pinned is a path to the very bytes that were hashed: the open file itself, or a
// private copy where that can't be run.
func (r *process) pinned() (string, error) {
	if !r.program.script {
		if path, ok := runnable(r.program.file); ok {
			return path, nil
		}
	}
	path := filepath.Join(r.base, "program")
	return path, r.program.copyTo(path, r.command.Digest)
}

// Start implements runner.Runner.
func (r *process) Start(context.Context) error {
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		outRead.Close()
		outWrite.Close()
		return fmt.Errorf("pipe: %w", err)
	}
	r.cmd.Stdout, r.cmd.Stderr = outWrite, errWrite
	started := make(chan error, 1)
	r.mu.Lock()
	r.owned = true
	r.mu.Unlock()
	go r.own(started, outRead, errRead)
	err = <-started
	outWrite.Close()
	errWrite.Close()
	return err
}

// own is the goroutine that owns the process, from start to nothing left.
func (r *process) own(started chan<- error, out, logs *os.File) {
	defer close(r.exited)
	defer out.Close()
	defer logs.Close()
	defer r.line.Close()
	defer r.lineOfLogs.Close()
	begin()
	if err := r.cmd.Start(); err != nil {
		r.wait = fmt.Errorf("start %s: %w%s", r.command.Path, err, r.program.hint(err))
		started <- r.wait
		return
	}
	r.mu.Lock()
	r.pid = r.cmd.Process.Pid
	doomed := r.doomed
	r.mu.Unlock()
	err := r.confine()
	if doomed && err == nil {
		err = context.Canceled
	}
	if err != nil {
		r.kill()
	}
	guard := startGuard(r.cmd.Process.Pid)
	var readers sync.WaitGroup
	readers.Go(func() { r.readOutput(&lastReader{File: out}) })
	readers.Go(func() { r.readLogs(&lastReader{File: logs}) })
	started <- err

	r.wait = r.reap()
	r.pace.end()
	guard.release()
	r.line.Close() // go-plugin reads no more, or a reader would wait for it
	r.lineOfLogs.Close()
	soon := time.Now().Add(pipeGrace)
	_, _ = out.SetReadDeadline(soon), logs.SetReadDeadline(soon)
	readers.Wait()
}

// confine does what can only be done to a process that runs.
func (r *process) confine() error {
	if err := limit(r.cmd.Process.Pid, r.command); err != nil {
		return err
	}
	if r.command.Digest != [32]byte{} {
		return r.program.unchanged()
	}
	return nil
}

// begun says whether the process runs, ran, or is about to.
func (r *process) begun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owned
}

// kill kills the process and its group, now or as soon as it runs.
func (r *process) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doomed = true
	if r.pid != 0 && !r.reaped {
		killGroup(r.pid)
	}
}

// collect takes the exit status of a process that has ended; its number is then free
// for others.
func (r *process) collect() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reaped = true
	return r.cmd.Wait()
}

// Wait implements runner.Runner.
func (r *process) Wait(ctx context.Context) error {
	select {
	case <-r.exited:
		return r.wait
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Kill implements runner.Runner.
func (r *process) Kill(context.Context) error {
	r.kill()
	return nil
}

// Stdout implements runner.Runner: the handshake line and then nothing.
func (r *process) Stdout() io.ReadCloser { return r.stdout }

// Stderr implements runner.Runner: nothing, because go-plugin panics over lines of
// JSON that it does not expect.
func (r *process) Stderr() io.ReadCloser { return r.stderr }

// Name implements runner.Runner.
func (r *process) Name() string { return r.command.Path }

// ID implements runner.Runner.
func (r *process) ID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pid == 0 {
		return ""
	}
	return strconv.Itoa(r.pid)
}

// Diagnose implements runner.Runner; explain says more.
func (r *process) Diagnose(context.Context) string { return "" }

// PluginToHost implements runner.Runner: only the address that was checked is dialled.
func (r *process) PluginToHost(network, address string) (string, string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if network != "unix" || r.socket == "" || address != r.socket {
		return "", "", handshake.ErrAddress
	}
	return network, address, nil
}

// HostToPlugin implements runner.Runner: nothing of the host may be dialled.
func (r *process) HostToPlugin(string, string) (string, string, error) {
	return "", "", errors.New("plugins can't call back")
}

var _ runner.Runner = (*process)(nil)
