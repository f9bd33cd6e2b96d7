package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// crew is the processes of the members. Its methods are called by one goroutine.
type crew struct {
	plan    plan
	checker *checker
	members []*member
}

// member is one process.
type member struct {
	name    string
	process *exec.Cmd
	dead    bool
	gone    chan struct{} // closed when it has ended and all it said is read
	err     error         // how it ended; read after gone
}

func (c *crew) start() error {
	m := &member{name: fmt.Sprintf("member-%d", len(c.members)), gone: make(chan struct{})}
	args := append(c.plan.command[1:len(c.plan.command):len(c.plan.command)], c.plan.addr, c.plan.group, c.plan.group, c.plan.kind)
	m.process = exec.Command(c.plan.command[0], args...)
	m.process.Stderr = os.Stderr
	out, err := m.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := m.process.Start(); err != nil {
		return err
	}
	c.members = append(c.members, m)
	go func() {
		defer close(m.gone)
		c.checker.read(m.name, out)
		m.err = m.process.Wait()
	}()
	return nil
}

// live are the names of those that were not killed.
func (c *crew) live() map[string]bool {
	out := map[string]bool{}
	for _, m := range c.members {
		if !m.dead {
			out[m.name] = true
		}
	}
	return out
}

func (c *crew) kill(i int) {
	m := c.members[i]
	m.dead = true
	m.signal(syscall.SIGKILL)
	<-m.gone // What it said before counts.
	c.checker.died(m.name)
}

func (c *crew) stop(i int)   { c.members[i].signal(syscall.SIGSTOP) }
func (c *crew) resume(i int) { c.members[i].signal(syscall.SIGCONT) }

func (m *member) signal(s syscall.Signal) {
	// It may have ended by itself; await tells.
	_ = m.process.Process.Signal(s)
}

// await waits until a check of the live members finds nothing wrong.
func (c *crew) await(ctx context.Context, what string, check func(live map[string]bool) error) error {
	until := time.Now().Add(patience)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(c.live())
		if err == nil {
			return nil
		}
		for _, m := range c.members {
			select {
			case <-m.gone:
				if !m.dead {
					return fmt.Errorf("%s ended by itself (%v): %s", m.name, m.err, c.checker.summary())
				}
			default:
			}
		}
		if time.Now().After(until) {
			return fmt.Errorf("wait until %s: %w; %s", what, errors.Join(err, c.checker.verdict()), c.checker.summary())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// leave asks the members to go and waits for them.
func (c *crew) leave(ctx context.Context) error {
	for _, m := range c.members {
		if !m.dead {
			m.signal(syscall.SIGTERM)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, m := range c.members {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not leave", m.name)
		case <-m.gone:
			if !m.dead && m.err != nil {
				return fmt.Errorf("%s: %w", m.name, m.err)
			}
		}
	}
	return nil
}

func (c *crew) killAll() {
	for _, m := range c.members {
		m.signal(syscall.SIGCONT)
		m.signal(syscall.SIGKILL)
		<-m.gone
	}
}

// event is what a member prints; see command member.
type event struct {
	Event      string
	Generation int32
	Owned      []int32
	Partition  int32
	Offset     int64
	Key        string
	Error      string
}

// read takes what a member prints until it ends.
func (c *checker) read(name string, out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			// A killed process may have said half a word.
			c.noted(name, fmt.Sprintf("not an event: %s", lines.Text()))
			continue
		}
		switch e.Event {
		case "owned":
			c.owned(name, e.Generation, e.Owned)
		case "record":
			c.delivered(name, e.Partition, e.Offset, e.Key)
		default:
			c.noted(name, e.Error)
		}
	}
}
