package pluginhost

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mortisemq/mortise/sdk/host/hosttest"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestSwapOfProcessesLosesNothing upgrades back and forth between two configs under
// load.
func TestSwapOfProcessesLosesNothing(t *testing.T) {
	for _, kind := range plugin.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := realWorld(t, Options{})
			v := []Spec{badSpec(kind, "", badConfig{}), badSpec(kind, "v2", badConfig{})}
			w.must(v[0])
			stop := w.load(kind, 4)
			for i := range 20 {
				w.must(v[(i+1)%2])
			}
			if n := stop(); n < 100 {
				t.Errorf("only %d questions", n)
			}
			if s := w.Status()[0]; s.Generation != 21 || len(s.Errors) > 0 {
				t.Errorf("status %+v, want generation 21 and no error", s)
			}
		})
	}
}

// TestNothingLeaks holds that upgrades and crashes leave no open file and no child.
func TestNothingLeaks(t *testing.T) {
	files := func() int {
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc here")
		}
		return len(open)
	}
	round := func(t *testing.T) {
		w := realWorld(t, Options{})
		path, gone := alive(t)
		for i := range 4 {
			w.must(badSpec(plugin.Partitioner, strings.Repeat("v", i), badConfig{Alive: path, Fault: "kill"}))
		}
		if err := w.ask(t.Context(), plugin.Partitioner); err != nil {
			t.Logf("the crash was felt: %v", err) // both versions crash
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := w.Close(ctx); err != nil {
			t.Error(err)
		}
		for range 4 {
			gone()
		}
	}
	t.Run("first", round) // opens what stays open
	before := files()
	for range 3 {
		t.Run("again", round)
	}
	if after := files(); after > before {
		t.Errorf("%d open files, %d before", after, before)
	}
}

// TestThousandCalls asks one process by a thousand callers at once: they wait for a
// place, and all are answered.
func TestThousandCalls(t *testing.T) {
	t.Parallel()
	w := realWorld(t, Options{})
	e := badSpec(plugin.Authorizer, "", badConfig{})
	e.Queue, e.Concurrency = 1000, 32
	w.must(e)
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {
			if err := w.ask(t.Context(), plugin.Authorizer); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// beBroker is a process with a plugin: it tells that it serves and waits to be killed.
func beBroker(alive string) {
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		panic(err)
	}
	h := New(Options{Dir: dir})
	if r := h.Apply(context.Background(), []Spec{badSpec(plugin.Partitioner, "", badConfig{Alive: alive})}); r[0].Err != nil {
		panic(r[0].Err)
	}
	_, _ = os.Stdout.WriteString(dir + "\n")
	select {}
}

// TestKilledBrokerLeavesNoOrphan kills a broker with SIGKILL.
func TestKilledBrokerLeavesNoOrphan(t *testing.T) {
	t.Parallel()
	path, gone := alive(t)
	exe, _ := self()
	cmd := exec.Command(exe, "broker", path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dir, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(strings.TrimSpace(dir))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	stop := hosttest.Stopwatch()
	gone()
	if took := stop(); took > 2*time.Second {
		t.Errorf("the plugin lived %v longer than its broker", took)
	}
	_ = cmd.Wait()
	next := runDir{under: strings.TrimSpace(dir)}
	if _, err := next.open(); err != nil {
		t.Fatal(err)
	}
	if err := next.close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(next.under); len(left) > 0 {
		t.Errorf("left of the broker after the next one: %v", left)
	}
}

// BenchmarkProcess is what a process costs: an upgrade, from the order to the new one
// in service, and a question about two actions.
func BenchmarkProcess(b *testing.B) {
	w := realWorld(b, Options{Bake: -1})
	kind := plugin.Authorizer
	v := []Spec{badSpec(kind, "", badConfig{}), badSpec(kind, "v2", badConfig{})}
	if err := w.apply(v[0]); err != nil {
		b.Fatal(err)
	}
	n := 0
	b.Run("upgrade", func(b *testing.B) {
		for b.Loop() {
			n++
			if r := w.Apply(b.Context(), v[n%2:n%2+1]); r[0].Err != nil {
				b.Fatal(r[0].Err)
			}
		}
	})
	b.Run("question", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := w.ask(b.Context(), kind); err != nil {
				b.Fatal(err)
			}
		}
	})
}
