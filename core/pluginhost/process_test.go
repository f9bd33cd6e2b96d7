package pluginhost

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// patience is how long anything with processes may take on a busy machine.
const patience = 60 * time.Second

// deadline is what the tests' entries set: a good answer takes less, everywhere.
const deadline = time.Second

// self is this test's binary and its digest.
var self = sync.OnceValues(func() (path, sum string) {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	f, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		panic(err)
	}
	return path, hex.EncodeToString(h.Sum(nil))
})

// realWorld is a Host with real processes.
func realWorld(t testing.TB, o Options) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "p") // t.TempDir's name is too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	o.Dir = dir
	w := &world{Host: New(o), t: t, registry: metrics.NewRegistry()}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := w.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left in the run directory: %v", left)
		}
		os.RemoveAll(dir)
	})
	return w
}

// badSpec is an entry p for the bad plugin.
func badSpec(kind plugin.Kind, start string, c badConfig) Spec {
	path, sum := self()
	config, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return Spec{Name: "p", Kind: kind, Path: path, Args: []string{"plugin", start}, Config: config,
		Env:    map[string]string{"GORACE": "atexit_sleep_ms=0"}, // the race detector's processes linger
		SHA256: map[string]string{Platform(): sum}, Enabled: true, Timeout: Duration(deadline)}
}

// until waits until ok, looking whenever something else serves.
func (w *world) until(what string, ok func(Status) bool) {
	w.t.Helper()
	s, err := w.find("p")
	if err != nil {
		w.t.Fatal(err)
	}
	limit := time.After(patience)
	look := time.NewTicker(20 * time.Millisecond) // for what is no change of who serves
	defer look.Stop()
	for {
		changed := s.changes()
		if ok(s.status()) {
			return
		}
		select {
		case <-changed:
		case <-look.C:
		case <-limit:
			w.t.Fatalf("after %v not yet: %s; status %+v", patience, what, s.status())
		}
	}
}

// alive listens for processes. gone waits for the end of the next one that came, and
// of all that have its connection from it.
func alive(t *testing.T) (path string, gone func() string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "a")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); os.RemoveAll(dir) })
	return path, func() string {
		_ = l.(*net.UnixListener).SetDeadline(time.Now().Add(patience))
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		pid, err := io.ReadAll(c)
		if err != nil {
			t.Errorf("process %s lives: %v", strings.TrimSpace(string(pid)), err)
		}
		return strings.TrimSpace(string(pid))
	}
}

// TestProcessFaults puts each fault of a real process before each kind: the call ends
// in time with the error of the failure table, and with the next config the plugin
// serves again, while another plugin never stops.
func TestProcessFaults(t *testing.T) {
	faults := map[string]error{
		"kill":  ErrUnavailable,
		"exit":  ErrUnavailable,
		"stop":  ErrTimeout,
		"hang":  ErrTimeout,
		"late":  ErrTimeout,
		"panic": ErrFailed,
		"error": ErrFailed,
		"lie":   ErrBadAnswer,
		"large": ErrFailed,
		"noise": nil,
	}
	for _, kind := range plugin.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := realWorld(t, Options{Bake: -1})
			good := badSpec(kind, "", badConfig{})
			good.Name, good.Plugin = "good", "p"
			if err := w.apply(good); err != nil {
				t.Fatal(err)
			}
			bystander, _ := w.find("good")
			for fault, want := range faults {
				if fault == "large" && (kind == plugin.Partitioner || kind == plugin.Authorizer) {
					continue // their answers have a size
				}
				if r := w.Apply(t.Context(), []Spec{good, badSpec(kind, "", badConfig{Fault: fault})}); r[1].Err != nil {
					t.Fatalf("%s: %v", fault, r[1].Err)
				}
				begin := time.Now()
				err := w.ask(t.Context(), kind)
				if took := time.Since(begin); !errors.Is(err, want) || (want == nil) != (err == nil) || took > 3*deadline {
					t.Errorf("%s: %v after %v, want %v", fault, err, took, want)
				}
				if r := w.Apply(t.Context(), []Spec{good, badSpec(kind, "", badConfig{})}); r[1].Err != nil {
					t.Fatalf("after %s: %v", fault, r[1].Err)
				}
				if err := w.ask(t.Context(), kind); err != nil {
					t.Errorf("after %s, with a good config: %v", fault, err)
				}
			}
			if g := bystander.current.Load(); g == nil || g.number != 1 {
				t.Error("another plugin was touched")
			}
		})
	}
}

// TestProcessComesBack kills a process again and again: a new one serves each time,
// until the budget is spent.
func TestProcessComesBack(t *testing.T) {
	t.Parallel()
	w := realWorld(t, Options{})
	path, gone := alive(t)
	w.must(badSpec(plugin.Authorizer, "", badConfig{Alive: path}))
	seen := map[string]bool{}
	for i := range restartsMax + 1 {
		g := w.Status()[0]
		p, err := os.FindProcess(g.PID)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		seen[gone()] = true
		if i < restartsMax {
			w.until("a new process", func(s Status) bool { return s.State == Serving && s.Generation > g.Generation })
			if err := w.ask(t.Context(), plugin.Authorizer); err != nil {
				t.Errorf("after restart %d: %v", i+1, err)
			}
		}
	}
	w.until("failed", func(s Status) bool { return s.State == Failed })
	if len(seen) != restartsMax+1 {
		t.Errorf("%d processes, want %d", len(seen), restartsMax+1)
	}
}

// TestStoppedProcessIsReplaced sends SIGSTOP: the process answers nothing and is not
// dead, and must be found out and be gone.
func TestStoppedProcessIsReplaced(t *testing.T) {
	t.Parallel()
	w := realWorld(t, Options{})
	path, gone := alive(t)
	e := badSpec(plugin.Authenticator, "", badConfig{Fault: "stop", Alive: path})
	e.Timeout = Duration(200 * time.Millisecond)
	w.must(e)
	for range breakerFailures {
		if err := w.ask(t.Context(), plugin.Authenticator); err == nil {
			t.Error("a stopped process answered")
		}
	}
	w.until("another process", func(s Status) bool { return s.Generation > 1 && s.State == Serving })
	gone()
}

// TestStartFaults lists what goes wrong before a process serves.
func TestStartFaults(t *testing.T) {
	cases := map[string]struct {
		start string
		spec  func(*Spec)
		want  error
		text  string
	}{
		"exits 0":      {start: "exit"},
		"banner":       {start: "garbage"},
		"digest":       {spec: func(s *Spec) { s.SHA256 = map[string]string{Platform(): digest} }, want: ErrRefused, text: "SHA-256"},
		"no such file": {spec: func(s *Spec) { s.Path = "/nowhere/plugin" }, text: "/nowhere/plugin"},
		"config":       {spec: func(s *Spec) { s.Config = []byte(`{"volume": 11}`) }, want: ErrRefused, text: "volume"},
		"version":      {spec: func(s *Spec) { s.Version = "3.0.0" }, want: ErrRefused, text: "1.0.0"},
		"no such name": {spec: func(s *Spec) { s.Plugin = "q" }, want: ErrRefused, text: "partitioner/p"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := realWorld(t, Options{})
			w.must(badSpec(plugin.Partitioner, "", badConfig{}))
			e := badSpec(plugin.Partitioner, c.start, badConfig{})
			if c.spec != nil {
				c.spec(&e)
			}
			err := w.apply(e)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %v with %q", err, c.want, c.text)
			}
			if err := w.ask(t.Context(), plugin.Partitioner); err != nil {
				t.Errorf("the version before does not serve: %v", err)
			}
		})
	}
}

// TestForkedChildDies holds that what a plugin forks does not outlive it.
func TestForkedChildDies(t *testing.T) {
	t.Parallel()
	w := realWorld(t, Options{})
	path, gone := alive(t)
	w.must(badSpec(plugin.Retention, "", badConfig{Fault: "fork", Alive: path}))
	if err := w.ask(t.Context(), plugin.Retention); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
	gone() // the child has the connection too
}

// TestGrowingProcessIsReplaced lets a process grow to its limit.
func TestGrowingProcessIsReplaced(t *testing.T) {
	t.Parallel()
	w := realWorld(t, Options{})
	e := badSpec(plugin.Partitioner, "", badConfig{Fault: "grow"})
	e.MemoryMax = 96 << 20
	if err := w.apply(e); err != nil {
		if strings.Contains(err.Error(), "ThreadSanitizer") {
			t.Skip("the race detector needs more memory than the limit")
		}
		t.Fatal(err)
	}
	s, _ := w.find("p")
	for g := s.current.Load(); g != nil && g.number == 1; g = s.current.Load() {
		if err := w.ask(t.Context(), plugin.Partitioner); err != nil {
			break // it grew faster than it is weighed, and met the hard limit
		}
		if rss, err := g.process.RSS(); err == nil && rss > e.MemoryMax {
			break
		}
	}
	w.until("another process", func(s Status) bool { return s.Generation > 1 && s.State == Serving && s.Memory < e.MemoryMax })
	if s.status().Restarts == 0 {
		t.Error("no restart is counted")
	}
}

// TestLogs holds that a plugin's lines are kept, harmless and bounded.
func TestLogs(t *testing.T) {
	t.Parallel()
	w := realWorld(t, Options{})
	w.must(badSpec(plugin.Authorizer, "", badConfig{Fault: "noise"}))
	if err := w.ask(t.Context(), plugin.Authorizer); err != nil {
		t.Fatal(err)
	}
	w.until("its lines", func(Status) bool { lines, _ := w.Logs("p"); return len(lines) > 10 })
	lines, err := w.Logs("p")
	if err != nil || len(lines) > LinesMax {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	for _, l := range lines {
		if strings.ContainsAny(l.Text, "\x1b\n") || !utf8.ValidString(l.Text) || len(l.Text) > LineMax+len(truncateMark) || l.Generation != 1 {
			t.Errorf("line %q of generation %d", l.Text, l.Generation)
		}
	}
}

// TestSwapOfProcessesLosesNothing upgrades back and forth between two configs under
// load.
func TestSwapOfProcessesLosesNothing(t *testing.T) {
	for _, kind := range plugin.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := realWorld(t, Options{})
			v := []Spec{badSpec(kind, "", badConfig{}), badSpec(kind, "v2", badConfig{})}
			for i := range v {
				v[i].Timeout = Duration(patience) // no machine is too busy for it
			}
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
	e.Queue, e.Concurrency, e.Timeout = 1000, 32, Duration(patience)
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
	begin := time.Now()
	gone()
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the plugin lived %v longer than its broker", took)
	}
	_ = cmd.Wait()
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
