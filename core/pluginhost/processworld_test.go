package pluginhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// patience is how long anything with processes may take on a busy machine.
const patience = 60 * time.Second

// deadline is that of calls which are to miss it; others have patience.
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
		SHA256: map[string]string{Platform(): sum}, Enabled: true, Timeout: Duration(patience)}
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
