package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds of waiting for a process.
const (
	lookEvery = 20 * time.Millisecond // whether it serves
	dialWait  = time.Second
	tailBytes = 2000 // of its log, in an error
)

// ErrRuns says that a node runs already.
var ErrRuns = errors.New("the node runs already")

// Node is one node of a cluster, whether it runs or not.
type Node struct {
	ID  int
	Dir string // its folder

	cluster     *Cluster
	ports       Ports
	place       Place
	told        Told
	replication int // the port of the listener for followers, behind a proxy

	mu      sync.Mutex
	process *os.Process   // guarded by mu; nil: it does not run
	ended   chan struct{} // guarded by mu; closed when the process has ended
	endErr  error         // of the last process; written before ended is closed
}

// Clients, Admin and Peer are where the node listens.
func (n *Node) Clients() string { return n.at(n.ports.Clients) }

// Admin is the address of the admin listener.
func (n *Node) Admin() string { return n.at(n.ports.Admin) }

// Peer is the address for other nodes.
func (n *Node) Peer() string { return n.at(n.ports.Peer) }

// at is the address of one of the node's ports.
func (n *Node) at(port int) string { return net.JoinHostPort(n.place.Host, strconv.Itoa(port)) }

// SettingsFile is the path of the node's settings.
func (n *Node) SettingsFile() string { return filepath.Join(n.Dir, "mortise.yaml") }

// LogFile is the path of what the node logs.
func (n *Node) LogFile() string { return filepath.Join(n.Dir, "mortise.log") }

// Data is the node's own folder.
func (n *Node) Data() string { return filepath.Join(n.place.Disk, "data") }

// Start starts the node and returns when it serves clients. When it does not before
// ctx ends, it is killed.
func (n *Node) Start(ctx context.Context) error {
	if err := n.Launch(); err != nil {
		return err
	}
	if err := n.serving(ctx); err != nil {
		return errors.Join(err, n.Kill())
	}
	return nil
}

// Launch starts the node's process and returns at once.
func (n *Node) Launch() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		return fmt.Errorf("node %d: %w", n.ID, ErrRuns)
	}
	if err := os.WriteFile(n.SettingsFile(), []byte(n.cluster.settings(n, n.cluster.founded())), 0o644); err != nil {
		return err
	}
	log, err := os.OpenFile(n.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	args := append(slices.Clone(n.place.Inside), n.cluster.binary, "serve", "--config", n.SettingsFile())
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(os.Environ()), log, log
	wait, err := begin(cmd)
	if err != nil {
		return fmt.Errorf("node %d: %w", n.ID, err)
	}
	n.process, n.ended = cmd.Process, make(chan struct{})
	go n.reap(wait, n.ended)
	return nil
}

// reap notes the end of the process. The goroutine ends with it.
func (n *Node) reap(wait func() error, ended chan struct{}) {
	err := wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.process, n.endErr = nil, err
	close(ended)
}

// environment leaves out what would outweigh a settings file.
func environment(all []string) []string {
	var kept []string
	for _, v := range all {
		if !strings.HasPrefix(v, "MORTISE_") {
			kept = append(kept, v)
		}
	}
	return kept
}

// serving waits until the node takes connections of clients.
func (n *Node) serving(ctx context.Context) error {
	ended := n.Ended()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		c, err := net.DialTimeout("tcp", n.Clients(), dialWait)
		if err == nil {
			return c.Close()
		}
		select {
		case <-look.C:
		case <-ended:
			return fmt.Errorf("node %d ended before it served (%v); its log %s ends:\n%s", n.ID, n.lastEnd(), n.LogFile(), n.tail())
		case <-ctx.Done():
			return fmt.Errorf("node %d does not serve at %s: %w; its log %s ends:\n%s", n.ID, n.Clients(), context.Cause(ctx), n.LogFile(), n.tail())
		}
	}
}

// tail is the end of the node's log.
func (n *Node) tail() string {
	text, err := os.ReadFile(n.LogFile())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-tailBytes):]))
}

// Ended is closed when the process that runs has ended, or the last one that ran;
// nil: none ever ran.
func (n *Node) Ended() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ended
}

// lastEnd is how the last process ended; nil: well.
func (n *Node) lastEnd() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.endErr
}

// Runs reports whether the node's process is there.
func (n *Node) Runs() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process != nil
}

// PID is the id of the node's process; 0: it does not run.
func (n *Node) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return 0
	}
	return n.process.Pid
}

// Signal sends a signal to the process; one that has ended takes none.
func (n *Node) Signal(s syscall.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return nil
	}
	if err := n.process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("node %d: %w", n.ID, err)
	}
	return nil
}

// Stop stops the node gracefully; when ctx ends it kills it, which is an error.
func (n *Node) Stop(ctx context.Context) error {
	ended := n.Ended()
	if ended == nil {
		return nil
	}
	if err := n.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-ended:
		if err := n.lastEnd(); err != nil {
			return fmt.Errorf("node %d: %w", n.ID, err)
		}
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("node %d does not stop: %w", n.ID, context.Cause(ctx)), n.Kill())
	}
}

// Kill ends the node at once and waits for its end.
func (n *Node) Kill() error {
	ended := n.Ended()
	if ended == nil {
		return nil
	}
	err := n.Signal(syscall.SIGKILL)
	if err == nil {
		<-ended
	}
	return err
}

// Wipe removes what the node holds, as if it had a new disk. The node must not run.
func (n *Node) Wipe() error {
	if n.Runs() {
		return fmt.Errorf("node %d: %w", n.ID, ErrRuns)
	}
	return os.RemoveAll(n.Data())
}
