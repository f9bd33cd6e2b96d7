//go:build unix

package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mortisemq/mortise/sdk/internal/handshake"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// launch starts a behaviour that is stopped with the test.
func launch(t testing.TB, c Command) *Process {
	t.Helper()
	p, err := Launch(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopNow(t, p) })
	return p
}

// stopNow stops a process without waiting for it to end by itself.
func stopNow(t testing.TB, target Target) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := target.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
	<-target.Done()
}

// lineLog collects lines and lets a test wait for one.
type lineLog struct {
	mu    sync.Mutex
	lines []string
	read  int           // await looked at those before
	news  chan struct{} // has room for one
}

func newLineLog() *lineLog { return &lineLog{news: make(chan struct{}, 1)} }

func (l *lineLog) take(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *lineLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// await waits for a line that begins so, after those that it has seen.
func (l *lineLog) await(t testing.TB, prefix string) {
	t.Helper()
	for {
		l.mu.Lock()
		for l.read < len(l.lines) {
			line := l.lines[l.read]
			l.read++
			if strings.HasPrefix(line, prefix) {
				l.mu.Unlock()
				return
			}
		}
		l.mu.Unlock()
		select {
		case <-l.news:
		case <-t.Context().Done():
			t.Fatalf("no line %q", prefix)
		}
	}
}

func partitionerOf(t testing.TB, target Target, name string) (*Instance, partitioner.Partitioner) {
	t.Helper()
	in, err := target.Configure(t.Context(), plugin.Partitioner, name, plugin.Config{BrokerID: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := in.Partitioner()
	if err != nil {
		t.Fatal(err)
	}
	return in, p
}

// order asks the odd partitioner to do something.
func order(ctx context.Context, p partitioner.Partitioner, what string) error {
	return p.Assign(ctx, &partitioner.Request{Topic: "t", Partitions: 4, Keys: [][]byte{[]byte(what)}}, make([]int32, 1))
}

func TestLaunchAndStop(t *testing.T) {
	p := launch(t, behaviour(t, "good"))
	in, c := partitionerOf(t, p, "lengths")
	out := make([]int32, 3)
	if err := c.Assign(t.Context(), &partitioner.Request{Topic: "t", Partitions: 4, Keys: [][]byte{nil, []byte("abc"), {}}}, out); err != nil {
		t.Fatal(err)
	}
	if out[0] != 0 || out[1] != 3 || out[2] != 0 {
		t.Errorf("partitions %v, want 0 3 0", out)
	}
	if rss, err := p.RSS(); err != nil || rss < 1<<20 || p.PID() == os.Getpid() {
		t.Errorf("RSS %d, %v; pid %d", rss, err, p.PID())
	}
	if err := p.Health(t.Context()); err != nil {
		t.Error(err)
	}
	if err := in.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if err := order(t.Context(), c, "x"); !errors.Is(err, plugin.ErrDrained) {
		t.Errorf("call after drain: %v, want ErrDrained", err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if p.ExitError() != nil {
		t.Errorf("exit error after Stop: %v", p.ExitError())
	}
	if err := order(t.Context(), c, "x"); !errors.Is(err, plugin.ErrGone) || !errors.Is(err, plugin.ErrUnavailable) {
		t.Errorf("call after stop: %v, want ErrGone", err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("second stop: %v", err)
	}
}

// TestLaunchRefuses starts what is no plugin, or lies about where it is.
func TestLaunchRefuses(t *testing.T) {
	for _, c := range []struct {
		behaviour string
		want      error
		text      string
	}{
		{"exit 0", nil, "ended before the handshake (exit status 0)"},
		{"complain and exit", nil, "(exit status 7); its output: no such file: ?[31mrules.yaml"},
		{"banner", handshake.ErrNoLine, `"Welcome!"`},
		{"long line", handshake.ErrNoLine, "16384 bytes"},
		{"tcp", handshake.ErrAddress, "127.0.0.1:22"},
		{"elsewhere", handshake.ErrAddress, "system_bus_socket"},
		{"climbs", handshake.ErrAddress, "/../s"},
		{"no socket", handshake.ErrAddress, "/f is none"},
		{"link", handshake.ErrAddress, "/l is none"},
		{"no tls", handshake.ErrNoTLS, ""},
		{"bad certificate", handshake.ErrCertificate, ""},
		{"netrpc", handshake.ErrVersion, `"netrpc"`},
		{"version 2", handshake.ErrVersion, `"2"`},
		{"go-plugin 2", handshake.ErrNoLine, ""},
		{"gone", nil, ""},
		{"plaintext", plugin.ErrGone, "tls"},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			p, err := Launch(t.Context(), behaviour(t, c.behaviour))
			if err == nil {
				stopNow(t, p)
				t.Fatal("it was taken for a plugin")
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %q, want %q in it", err, c.text)
			}
		})
	}
}

// TestLaunchGivesUp cancels a start that hangs, before and after the handshake.
func TestLaunchGivesUp(t *testing.T) {
	for _, name := range []string{"silent", "accepts nobody"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			c := behaviour(t, name)
			c.Stderr = func(line []byte) {
				if string(line) == "alive" {
					cancel()
				}
			}
			if _, err := Launch(ctx, c); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want canceled", err)
			}
		})
	}
}

func TestLaunchOfNoProgram(t *testing.T) {
	dir := shortDir(t)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	noFormat := filepath.Join(t.TempDir(), "noformat")
	if err := os.WriteFile(noFormat, []byte("hello"), 0o700); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "main.go")
	script := filepath.Join(t.TempDir(), "script")
	if err := errors.Join(os.WriteFile(source, []byte("package main"), 0o600), os.WriteFile(script, []byte("#!/nosuch\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Command{
		"is not absolute":                                     {Path: "plugin", RunDir: dir},
		"no such file or directory":                           {Path: filepath.Join(dir, "plugin"), RunDir: dir},
		"a folder; write the path":                            {Path: dir, RunDir: dir},
		"not executable (chmod +x)":                           {Path: text, RunDir: dir},
		"not executable; it is the source":                    {Path: source, RunDir: dir},
		"is the interpreter there that its first line names?": {Path: script, RunDir: dir},
		"exec format error":                                   {Path: noFormat, RunDir: dir},
		filepath.Join(dir, "x"):                               {Path: noFormat, RunDir: filepath.Join(dir, "x")},
		strings.Repeat("d", 60):                               {Path: noFormat, RunDir: "/" + strings.Repeat("d", 60)},
	} {
		if _, err := Launch(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func digest(t testing.TB, path string) [32]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(data)
}

// TestDigest runs what was hashed, and nothing else.
func TestDigest(t *testing.T) {
	c := behaviour(t, "good")
	c.Digest = digest(t, c.Path)
	p := launch(t, c)
	if _, err := p.Describe(t.Context()); err != nil {
		t.Error(err)
	}
	c.Digest[0]++
	if _, err := Launch(t.Context(), c); !errors.Is(err, ErrDigest) {
		t.Errorf("another digest: %v, want ErrDigest", err)
	}
}

// TestDigestOfScript runs a private copy, because an interpreter opens by name.
func TestDigestOfScript(t *testing.T) {
	c := behaviour(t, "good")
	script := filepath.Join(t.TempDir(), "plugin.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec "+c.Path+" behave good\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.Path, c.Args, c.Digest = script, nil, digest(t, script)
	p := launch(t, c)
	if _, err := p.Describe(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDigestHoldsTheFile swaps the file between the check and the start: what was
// checked runs, and a file that changed in place does not count as checked.
func TestDigestHoldsTheFile(t *testing.T) {
	c := behaviour(t, "good")
	data, err := os.ReadFile(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	c.Path = filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(c.Path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	c.Digest = digest(t, c.Path)
	opened, err := openProgram(c)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.file.Close()
	evil := c.Path + ".new"
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho evil\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(evil, c.Path); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(c.RunDir, "p1")
	if err := os.Mkdir(base, 0o700); err != nil {
		t.Fatal(err)
	}
	c.StartTimeout = DefaultStartTimeout
	p := &Process{run: newProcess(c, opened, base)}
	if err := p.launch(t.Context()); err != nil {
		t.Errorf("the file that was checked did not run: %v", err)
	}
	stopNow(t, p)

	before := &program{file: opened.file, size: opened.size + 1, mtime: opened.mtime}
	if err := before.unchanged(); !errors.Is(err, ErrDigest) {
		t.Errorf("a file that changed: %v, want ErrDigest", err)
	}
}
