package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"
)

// ErrForced says that a second signal cut a graceful stop short. What was
// acknowledged is safe; the next start recovers what was not flushed.
var ErrForced = errors.New("stopped at once by a second signal; the next start will recover")

// echo is how soon after the first a signal still counts as the same: tools such as
// timeout signal a process and then its whole group.
const echo = 250 * time.Millisecond

// Process is what Run keeps alive. All functions are called from one goroutine.
type Process struct {
	Log *slog.Logger
	// Signals brings SIGINT, SIGTERM and SIGHUP.
	Signals <-chan os.Signal
	// Stop stops the node; when ctx ends it gives up waiting.
	Stop func(ctx context.Context) error
	// StopTimeout bounds Stop, as the settings say at that moment.
	StopTimeout func() time.Duration
	// Reload reads the settings again and puts them in force, all or none.
	Reload func() error
}

// Run serves signals until the process shall end.
func (p Process) Run() error {
	for s := range p.Signals {
		if s != syscall.SIGHUP {
			return p.stop(s)
		}
		if err := p.Reload(); err != nil {
			p.Log.Error("reload failed; the settings stay as they are", "err", err)
		}
	}
	return errors.New("the signals ended")
}

// stop stops the node within its bound, or at once at a second signal.
func (p Process) stop(s os.Signal) error {
	timeout, first := p.StopTimeout(), time.Now()
	p.Log.Info("stopping", "signal", s.String(), "timeout", timeout)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(ctx) }()
	for {
		select {
		case err := <-stopped:
			if err == nil {
				p.Log.Info("stopped")
			}
			return err
		case again := <-p.Signals:
			if again != syscall.SIGHUP && time.Since(first) > echo {
				return fmt.Errorf("%w (%s)", ErrForced, again)
			}
		}
	}
}
