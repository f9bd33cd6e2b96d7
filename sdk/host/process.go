package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/protobuf/types/known/emptypb"
)

// How long a process gets to end by itself after it was told to, and to disappear
// after it was killed.
const (
	shutdownTimeout = 2 * time.Second
	killTimeout     = 5 * time.Second
)

// Process is a Target in a process of its own.
type Process struct {
	*remote
	run    *process
	client *goplugin.Client

	stop    sync.Once
	stopped atomic.Bool // Stop was called
	err     error       // of Stop; set by stop
}

var _ Target = (*Process)(nil)

// PID is the number of the process and of its group.
func (p *Process) PID() int {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	return p.run.pid
}

// Done implements Target: it is closed when nothing of the process is left.
func (p *Process) Done() <-chan struct{} { return p.run.exited }

// ExitError implements Target.
func (p *Process) ExitError() error {
	select {
	case <-p.run.exited:
		if p.stopped.Load() {
			return nil
		}
		return endOf(p.run.wait)
	default:
		return nil
	}
}

// RSS is the resident memory of the process now, in bytes; an error where the system
// does not tell or the process is gone.
func (p *Process) RSS() (uint64, error) {
	if p.run.hasExited() {
		return 0, errors.New("process is gone")
	}
	return residentBytes(p.PID())
}

// Kill kills the process and what it forked, and does not wait; Stop cleans up.
func (p *Process) Kill() { p.run.kill() }

// Stop implements Target. It asks the process to end, kills it if it does not, and
// cleans up. Instances that are in use should be drained before.
func (p *Process) Stop(ctx context.Context) error {
	p.stop.Do(func() {
		p.stopped.Store(!p.run.hasExited())
		p.err = p.shutdown(ctx)
	})
	return p.err
}

func (p *Process) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if !p.run.hasExited() {
		// The server ends in the middle of this call, so its error says nothing.
		_ = p.conn.Invoke(ctx, shutdownMethod, &emptypb.Empty{}, &emptypb.Empty{})
	}
	select {
	case <-p.run.exited:
	case <-ctx.Done():
	}
	return p.remove()
}

// remove kills the process if it runs and removes everything of it. go-plugin's part
// comes last: it waits without a deadline for a process that answers.
func (p *Process) remove() error {
	p.run.kill()
	if p.run.begun() {
		select {
		case <-p.run.exited:
		case <-time.After(killTimeout): // a process in the kernel that can't be killed
			return fmt.Errorf("process %d does not end", p.PID())
		}
	}
	if p.client != nil {
		p.client.Kill()
	}
	if err := os.RemoveAll(p.run.base); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("plugin's directory: %w", err)
	}
	return nil
}
