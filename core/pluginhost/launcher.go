package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// Launcher starts the processes of plugins. Package host has the real one; tests
// have others.
type Launcher interface {
	Launch(ctx context.Context, c host.Command) (Process, error)
}

// Process is plugins in a process of their own.
type Process interface {
	host.Target
	PID() int
	RSS() (uint64, error) // bytes; an error where the system does not tell
}

// processes is the Launcher that starts processes.
type processes struct{}

func (processes) Launch(ctx context.Context, c host.Command) (Process, error) {
	p, err := host.Launch(ctx, c)
	switch {
	case err == nil:
		return p, nil
	case errors.Is(err, host.ErrDigest), errors.Is(err, host.ErrRunDir):
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil, err // not p: a nil *host.Process is no nil Process
}

// resident is a compiled-in plugin as a Process: it has no memory of its own.
type resident struct{ host.Target }

func (resident) PID() int             { return 0 }
func (resident) RSS() (uint64, error) { return 0, plugin.ErrUnsupported }

// mappedMax is what a process may have mapped to write to and never touched: of a Go
// program 60 MiB, and 8 MiB more for the stack of each thread if it was built with cgo,
// together up to 117 MiB when it starts. The system's own limit counts that and is hard,
// so it is far above the entry's, which the supervisor keeps (weigh), and a Go program's
// collector a little below. One that grows fast meets it before it is weighed.
const mappedMax = 128 << 20

// filesMax bounds the open files of a process: more than one needs that talks to many
// others, and little of what the system has.
const filesMax = 16 << 10

// command is how the entry's binary is started.
func (h *Host) command(s *Spec, log func([]byte)) (host.Command, error) {
	c := host.Command{Path: s.Path, Args: s.Args, StartTimeout: launchMax, NoFile: filesMax, Stderr: log}
	sum, ok := s.digest()
	if !ok && !h.o.AllowUnverified {
		return c, fmt.Errorf("%w: no sha256 for %s", ErrRefused, Platform())
	}
	c.Digest = sum
	var err error
	if c.RunDir, err = h.dir.open(); err != nil {
		return c, err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		c.Env = append(c.Env, name+"="+s.Env[name])
	}
	if s.MemoryMax > 0 {
		c.MemoryMax = 2*s.MemoryMax + mappedMax
		if s.Env["GOMEMLIMIT"] == "" {
			c.Env = append(c.Env, "GOMEMLIMIT="+strconv.FormatUint(s.MemoryMax/10*8, 10))
		}
	}
	if s.RunAs != nil {
		c.RunAs = &host.User{UID: s.RunAs.UID, GID: s.RunAs.GID}
	}
	return c, nil
}

// launch starts what the entry names: a process, or a value in this one.
func (h *Host) launch(ctx context.Context, s *Spec, log func([]byte)) (Process, error) {
	if s.Builtin == "" {
		c, err := h.command(s, log)
		if err != nil {
			return nil, err
		}
		return h.o.Launcher.Launch(ctx, c)
	}
	p, err := plugin.Find(h.o.Builtins, s.Kind, s.Builtin)
	if err != nil {
		return nil, fmt.Errorf("%w: no %s %q is compiled in", ErrRefused, s.Kind, s.Builtin)
	}
	t, err := host.Direct(p)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return resident{t}, nil
}
