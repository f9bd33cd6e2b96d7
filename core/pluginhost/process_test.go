package pluginhost

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mortisemq/mortise/sdk/plugin"
)

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
				e := badSpec(kind, "", badConfig{Fault: fault})
				limit := patience
				if want == ErrTimeout {
					e.Timeout, limit = Duration(deadline), 10*deadline
				}
				if r := w.Apply(t.Context(), []Spec{good, e}); r[1].Err != nil {
					t.Fatalf("%s: %v", fault, r[1].Err)
				}
				begin := time.Now()
				err := w.ask(t.Context(), kind)
				if took := time.Since(begin); !errors.Is(err, want) || (want == nil) != (err == nil) || took > limit {
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
