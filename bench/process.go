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
	"syscall"
	"time"
)

// broker is a broker process under test.
type broker struct {
	name string
	addr string
	dir  string // removed and made anew by fresh
	argv func(dir string) []string
	prep func(dir string) error // before the first start on an empty dir

	cmd    *exec.Cmd
	topics int // made for runs so far
}

// fresh starts the broker on an empty directory and waits until it serves.
func (b *broker) fresh() error {
	if err := os.RemoveAll(b.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	if b.prep != nil {
		if err := b.prep(b.dir); err != nil {
			return err
		}
	}
	return b.start()
}

// start starts the broker on the directory that it has.
func (b *broker) start() error {
	argv := b.argv(b.dir)
	b.cmd = exec.Command(argv[0], argv[1:]...)
	log, err := os.Create(b.dir + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	b.cmd.Stdout, b.cmd.Stderr = log, log
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := b.cmd.Start(); err != nil {
		return err
	}
	return b.waitServing(90 * time.Second)
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

// stop ends the broker gracefully.
func (b *broker) stop() error {
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

// cpu is the process's user and system time so far.
func (b *broker) cpu() (time.Duration, error) {
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

// anonymousKiB is the process's private memory without the page cache.
func (b *broker) anonymousKiB() (int64, error) {
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
