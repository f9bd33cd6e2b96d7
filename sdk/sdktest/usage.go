package sdktest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/mortisemq/mortise/sdk/host"
)

const (
	memoryCalls = 4000
	memoryWarm  = 500
	memoryBound = 12 << 20 // bytes of growth that are nobody's leak

	leakRounds = 40
	leakBound  = leakRounds / 2 // a leak for each instance is more

	settleStep = 20 * time.Millisecond
)

// usage is what a plugin holds open: goroutines where it shares our process, else its
// files.
type usage struct {
	count func() (int, error)
	what  string
	began int
	err   error

	patience time.Duration
}

// usage begins to count.
func (b *bench) usage() usage {
	u := usage{patience: b.waits.settle, what: "goroutines", count: func() (int, error) { return runtime.NumGoroutine(), nil }}
	if p, ok := b.target.(*host.Process); ok {
		u.what, u.count = "open files", func() (int, error) { return openOf(p.PID()) }
	}
	u.began, u.err = u.count()
	return u
}

// openOf counts the open files of a process, where the system tells. Threads are not
// counted: a pool of them may grow with the calls and stay.
func openOf(pid int) (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries), err
}

// settles wants no more open than in the beginning, but for what comes and goes.
func (u usage) settles(ctx context.Context) error {
	if u.err != nil {
		return nil // not Linux
	}
	ticks := time.NewTicker(settleStep)
	defer ticks.Stop()
	until := time.Now().Add(u.patience)
	for {
		now, err := u.count()
		if err != nil || now <= u.began+leakBound {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("%d %s, %d in the beginning", now, u.what, u.began)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func checkLeaks(ctx context.Context, b *bench) error {
	target, err := b.open(ctx)
	if err != nil {
		return err
	}
	round := func() error {
		if err := b.validate(ctx, target, b.subject.Config); err != nil {
			return err
		}
		in, err := b.instance(ctx, target)
		if err != nil {
			return err
		}
		return b.drain(in)
	}
	for range 5 { // what is made once
		if err := round(); err != nil {
			return err
		}
	}
	usage := b.usage()
	for range leakRounds {
		if err := round(); err != nil {
			return err
		}
	}
	return usage.settles(ctx)
}

func checkMemory(ctx context.Context, b *bench) error {
	t, err := b.talk(ctx)
	if err != nil {
		return err
	}
	until := time.Now().Add(b.waits.memory)
	ask := func(calls int) error {
		for n := 0; n < calls && (n == 0 || time.Now().Before(until)); n++ {
			if _, err := t.ordinary(ctx, n); err != nil {
				return err
			}
		}
		return nil
	}
	if err := ask(memoryWarm); err != nil {
		return err
	}
	before, err := b.memory()
	if err != nil {
		return skipped(err.Error())
	}
	if err := ask(memoryCalls); err != nil {
		return err
	}
	after, err := b.memory()
	if err != nil {
		return err
	}
	if after > before+memoryBound {
		return fmt.Errorf("%d KiB, %d KiB after at most %d calls", before>>10, after>>10, memoryCalls)
	}
	return t.end()
}

// memory is what the plugin uses, in bytes: of its process, or of ours without garbage.
func (b *bench) memory() (uint64, error) {
	if p, ok := b.target.(*host.Process); ok {
		return p.RSS()
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, nil
}
