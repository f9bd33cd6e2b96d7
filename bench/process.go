package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// broker is a broker process under test, and those that follow it.
type broker struct {
	name  string
	addr  string
	admin string // where it tells its metrics; empty: nowhere
	dir   string // removed and made anew by fresh
	argv  func(dir string) []string
	prep  func(dir string) error // before the first start on an empty dir
	// followers are the other nodes of its cluster, if it has one: topics have a replica
	// on each, and it leads.
	followers []*broker

	cmd    *exec.Cmd
	topics int // made for runs so far
}

// nodes are the processes, the leader first.
func (b *broker) nodes() []*broker { return append([]*broker{b}, b.followers...) }

// fresh starts the broker and its followers on empty directories and waits until they
// serve.
func (b *broker) fresh() error {
	for _, n := range b.nodes() {
		if err := n.empty(); err != nil {
			return err
		}
	}
	return b.start()
}

// empty makes the directory of the process anew.
func (b *broker) empty() error {
	if err := os.RemoveAll(b.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	if b.prep != nil {
		return b.prep(b.dir)
	}
	return nil
}

// start starts the broker and its followers on the directories that they have.
func (b *broker) start() error {
	nodes := b.nodes()
	for _, n := range nodes {
		if err := n.begin(); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		if err := n.waitServing(startMax); err != nil {
			return err
		}
	}
	return nil
}

// startMax bounds a start: three JVMs on two cores are slow.
const startMax = 90 * time.Second

// begin starts the process.
func (b *broker) begin() error {
	argv := b.argv(b.dir)
	b.cmd = exec.Command(argv[0], argv[1:]...)
	log, err := os.Create(b.dir + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	b.cmd.Stdout, b.cmd.Stderr = log, log
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return b.cmd.Start()
}

// waitServing polls until a Metadata request is answered.
func (b *broker) waitServing(limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		if c, err := dial(b.addr); err == nil {
			_, err = c.metadata(nil)
			c.close()
			if err == nil {
				return nil
			}
		} else if !errors.Is(err, syscall.ECONNREFUSED) && !isTimeout(err) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%s does not serve on %s after %s; see %s.log", b.name, b.addr, limit, b.dir)
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// stop ends the broker and its followers gracefully, all at once.
func (b *broker) stop() error {
	nodes := b.nodes()
	ends := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { ends[i] = n.end() })
	}
	all.Wait()
	return errors.Join(ends...)
}

// end ends the process gracefully.
func (b *broker) end() error {
	if b.cmd == nil || b.cmd.Process == nil {
		return nil // it never began
	}
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := b.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == 143 || exit.ExitCode() == -1) {
		return nil // a JVM's word for a graceful SIGTERM
	}
	return err
}

// cpu is the user and system time of all processes so far.
func (b *broker) cpu() (sum time.Duration, err error) {
	for _, n := range b.nodes() {
		of, err := n.ownCPU()
		if err != nil {
			return 0, err
		}
		sum += of
	}
	return sum, nil
}

// ownCPU is the process's user and system time so far.
func (b *broker) ownCPU() (time.Duration, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(b.cmd.Process.Pid), "stat"))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("stat of %s has %d fields", b.name, len(fields))
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on Linux
	return time.Duration(user+system) * tick, errors.Join(err1, err2)
}

// ownWaits is how often threads of the process went to sleep so far: each is a wake-up
// and two switches.
func (b *broker) ownWaits() (sum float64, err error) {
	threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(b.cmd.Process.Pid), "task", "*", "status"))
	if err != nil {
		return 0, err
	}
	for _, t := range threads {
		text, err := os.ReadFile(t)
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			var n float64
			if got, _ := fmt.Sscanf(line, "voluntary_ctxt_switches: %g", &n); got == 1 {
				sum += n
			}
		}
	}
	return sum, nil
}

// anonymousKiB is the private memory of all processes without the page cache.
func (b *broker) anonymousKiB() (sum int64, err error) {
	for _, n := range b.nodes() {
		of, err := n.ownAnonymousKiB()
		if err != nil {
			return 0, err
		}
		sum += of
	}
	return sum, nil
}

// ownAnonymousKiB is the process's private memory without the page cache.
func (b *broker) ownAnonymousKiB() (int64, error) {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(b.cmd.Process.Pid), "smaps_rollup"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "Anonymous:"); ok {
			return strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		}
	}
	return 0, errors.New("smaps_rollup has no Anonymous line")
}
