package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// faultFile is the path of the file that names the fault.
type faultFile string

// now is the fault now; empty: none.
func (f faultFile) now() string {
	text, err := os.ReadFile(string(f))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// start does what goes wrong before anything is served.
func (f faultFile) start() {
	switch f.now() {
	case "exit":
		os.Exit(0)
	case "garbage":
		fmt.Println("Welcome to the plugin!")
	}
}

// Sizes of what grows.
const (
	largeBytes  = 9 << 20 // more than an answer may have
	growBytes   = 16 << 20
	leakBytes   = 16 << 10
	hoardBlocks = 64 << 10
)

// hoard is what was allocated and never let go.
var hoard [hoardBlocks]atomic.Pointer[[]byte]

// hoarded counts the blocks.
var hoarded atomic.Int32

// keep allocates memory for good, and touches it.
func keep(bytes int) {
	block := make([]byte, bytes)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	if n := hoarded.Add(1); n < hoardBlocks {
		hoard[n].Store(&block)
	}
}

// large is more than a message may have, in lines, if that is the fault.
func (f faultFile) large() string {
	if f.now() != "large" {
		return ""
	}
	return strings.Repeat(strings.Repeat("x", 1000)+"\n", largeBytes/1000)
}

// do does the fault in a call; true: the answer shall be wrong.
func (f faultFile) do(ctx context.Context) (lie bool, err error) {
	switch f.now() {
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {} // until it reaches every thread
	case "exit":
		os.Exit(0)
	case "hang":
		select {}
	case "late":
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond)
	case "panic":
		panic("told to")
	case "error":
		return false, errors.New("told to fail")
	case "lie":
		return true, nil
	case "garbage":
		noise()
	case "grow":
		keep(growBytes)
	case "leak":
		keep(leakBytes)
	case "fork":
		if err := f.fork(); err != nil {
			return false, err
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "linger":
		if lingers.CompareAndSwap(false, true) {
			return false, f.fork()
		}
	}
	return false, nil
}

// lingers says that a child was started that stays.
var lingers atomic.Bool

// fork starts a child that stays.
func (f faultFile) fork() error {
	// Its name tells the test whose it is.
	child := &exec.Cmd{Path: "/bin/sleep", Args: []string{string(f), forkedSeconds}}
	child.Stderr = os.Stderr
	return child.Start()
}

// forkedSeconds is how long a child stays.
const forkedSeconds = "600"

// noise writes what readers of logs stumble over.
func noise() {
	for _, line := range []string{`{"@level":5}`, `{"@message":{}}`, `{"@timestamp":[1]}`, "\x1b[2J\xff", "panic: not really", strings.Repeat("y", 1<<16)} {
		fmt.Fprintln(os.Stderr, line)
		fmt.Println(line)
	}
}
