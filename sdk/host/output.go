package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mortisemq/mortise/sdk/internal/handshake"
)

// exitGrace is how long an error about a start waits for the exit status.
const exitGrace = time.Second

// tailBytes bounds how much of the last output an error about the start shows.
const tailBytes = 2 << 10

// lastMax bounds what is read of a pipe when the deadline of reading has passed: what one
// holds. Who still writes to it is no process of ours.
const lastMax = 64 << 10

// lastReader reads a process's pipe, and when the deadline of that has passed what it
// still holds: how a process ended stands in its last lines, and a broker that got no
// processor for as long as the grace has not read them.
type lastReader struct {
	*os.File
	last int // bytes that were read after the deadline
}

// Read implements io.Reader.
func (r *lastReader) Read(b []byte) (int, error) {
	n, err := r.File.Read(b)
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if b = b[:min(len(b), lastMax-r.last)]; len(b) == 0 {
		return 0, io.EOF
	}
	n, err = readNow(r.File, b)
	r.last += n
	return n, err
}

// readOutput checks the first line, hands it to go-plugin, and reads the rest.
func (r *process) readOutput(out io.Reader) {
	first := true
	eachLine(pacedReader{out, r.pace}, func(line []byte) {
		if !first {
			r.log(line)
			return
		}
		first = false
		parsed, err := handshake.Parse(string(line), r.dir)
		if err == nil {
			err = isSocket(parsed.Socket)
		}
		if err != nil {
			r.blame(err)
			r.line.CloseWithError(io.EOF)
			return
		}
		r.mu.Lock()
		r.socket = parsed.Socket
		r.mu.Unlock()
		_, _ = io.WriteString(r.line, parsed.String()+"\n") // go-plugin may have given up
	})
}

// readLogs reads standard error.
func (r *process) readLogs(logs io.Reader) { eachLine(pacedReader{logs, r.pace}, r.log) }

// isSocket says whether the path is a socket, not a link to one.
func isSocket(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%w: %s is none", handshake.ErrAddress, path)
	}
	return nil
}

// log hands one line of output over.
func (r *process) log(line []byte) {
	r.pace.spend(lineCost)
	line = clean(line)
	r.mu.Lock()
	if r.socket == "" && r.tail.Len()+len(line) < tailBytes {
		r.tail.Write(line)
		r.tail.WriteByte('\n')
	}
	r.mu.Unlock()
	if r.command.Stderr == nil {
		return
	}
	r.stderrLock.Lock()
	defer r.stderrLock.Unlock()
	r.command.Stderr(line)
}

// blame remembers why the start is no good; the first reason counts.
func (r *process) blame(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil {
		r.fault = err
	}
}

// awaitReason waits a little for the exit status of a process that closed its standard
// output without a handshake: it says more than that.
func (r *process) awaitReason(ctx context.Context) {
	r.mu.Lock()
	known := r.fault != nil || r.socket != "" || r.pid == 0
	r.mu.Unlock()
	if known {
		return
	}
	select {
	case <-r.exited:
	case <-ctx.Done():
	case <-time.After(exitGrace):
	}
}

// explain is why the start is no good, when go-plugin says err.
func (r *process) explain(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		err = fmt.Errorf("not ready in time: %w", err)
	case r.fault != nil:
		err = r.fault
	case r.pid != 0 && r.socket == "" && r.hasExited():
		err = fmt.Errorf("it ended before the handshake (%w)", endOf(r.wait))
	}
	if tail := strings.TrimSpace(r.tail.String()); tail != "" {
		return fmt.Errorf("%w; its output: %s", err, tail)
	}
	return err
}

func (r *process) hasExited() bool {
	select {
	case <-r.exited:
		return true
	default:
		return false
	}
}

// endOf is how a process ended.
func endOf(wait error) error {
	if wait == nil {
		return errors.New("exit status 0")
	}
	return wait
}
