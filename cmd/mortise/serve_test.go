package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// server is a `mortise serve` inside a test.
type server struct {
	t       *testing.T
	signals chan os.Signal
	lines   chan map[string]any // of its log
	ended   chan error
	clients string // address
	admin   string // URL
}

// linesMax bounds the lines of a log that nobody has looked at yet. A server that logs more
// waits until somebody does.
const linesMax = 100_000

// serve runs `mortise serve` with more arguments and waits until it serves.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{t: t, signals: make(chan os.Signal, 2), lines: make(chan map[string]any, linesMax), ended: make(chan error, 1)}
	r, w := io.Pipe()
	go func() {
		defer close(s.lines)
		for in := bufio.NewScanner(r); in.Scan(); {
			line := map[string]any{}
			if err := json.Unmarshal(in.Bytes(), &line); err != nil {
				line["msg"] = in.Text()
			}
			s.lines <- line
		}
	}()
	root := (&app{in: strings.NewReader(""), out: io.Discard, err: w, format: output.Text, signals: s.signals}).root()
	root.SetArgs(append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-address", "127.0.0.1:0"}, args...))
	go func() {
		s.ended <- root.ExecuteContext(t.Context())
		w.Close()
	}()
	s.clients = fmt.Sprint(s.line("listener")["address"])
	s.admin = fmt.Sprint(s.line("admin listener")["address"])
	s.line("open files") // the last line of the start
	return s
}

// line waits for a line of the log.
func (s *server) line(msg string) map[string]any {
	s.t.Helper()
	for line := range s.lines {
		if line["msg"] == msg {
			return line
		}
	}
	s.t.Fatalf("the log ended without %q: %v", msg, <-s.ended)
	return nil
}

// stop ends the server in order.
func (s *server) stop() {
	s.t.Helper()
	s.signals <- syscall.SIGTERM
	s.line("stopped")
	if err := <-s.ended; err != nil {
		s.t.Errorf("a graceful stop gave %v", err)
	}
}

// get gives a page of the admin listener.
func (s *server) get(path string) string {
	s.t.Helper()
	r, err := http.Get(s.admin + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s, %v\n%s", path, r.Status, err, b)
	}
	return string(b)
}

func TestServeReloadsAndStops(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "m.yaml")
	write(t, file, "durability: page-cache\ndefaults:\n  log.retention.ms: 5000\n")
	s := serve(t, "--config", file, "--data", filepath.Join(dir, "data"))
	must(t, s.clients, "x\n", "produce", "t")

	write(t, file, "durability: fsync\nlog:\n  level: debug\ndefaults:\n  log.retention.ms: 6000\n")
	s.signals <- syscall.SIGHUP
	if line := s.line("a changed setting waits for a restart"); line["key"] != "durability" || line["to"] != "fsync" {
		t.Errorf("%v", line)
	}
	s.line("settings reloaded")
	config := s.get("/v1/config")
	for _, want := range []string{`"value": "page-cache"`, `"value": "debug"`, `"value": "6000"`, `"value": 1,`, file + ":3"} {
		if !strings.Contains(config, want) {
			t.Errorf("no %s in /v1/config:\n%s", want, config)
		}
	}

	write(t, file, "nodes: {}\n")
	s.signals <- syscall.SIGHUP
	if line := s.line("reload failed; the settings stay as they are"); !strings.Contains(fmt.Sprint(line["err"]), file+":1: nodes: unknown key") {
		t.Errorf("%v", line)
	}
	for _, want := range []string{`reloads_total{result="ok"} 1`, `reloads_total{result="refused"} 1`, "mortise_settings_loaded_seconds "} {
		if metrics := s.get("/metrics"); !strings.Contains(metrics, want) {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
	if got := must(t, s.clients, "", "consume", "t", "-e"); got != "x\n" {
		t.Errorf("after reloads: %q", got)
	}
	s.stop()
}

func TestServeSaysWhatIsInTheWay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := serve(t, "--data", dir)
	other := filepath.Join(t.TempDir(), "other")
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	admin := strings.TrimPrefix(s.admin, "http://")
	for _, c := range []struct{ want, line string }{
		{fmt.Sprintf("is in use by the process %d", os.Getpid()), "--data " + dir + " --listen 127.0.0.1:0 --admin-address="},
		{"choose another address: listeners or --listen", "--data " + other + " --listen " + s.clients + " --admin-address="},
		{"admin.address or --admin-address", "--data " + other + " --listen 127.0.0.1:0 --admin-address " + admin},
		{"not a directory", "--data " + file + "/data --listen 127.0.0.1:0 --admin-address="},
	} {
		fails(t, "", "", output.ExitFailure, c.want, append([]string{"serve"}, strings.Fields(c.line)...)...)
	}
	s.stop()
	if _, err := net.Dial("tcp", s.clients); err == nil {
		t.Error("the listener is open after the stop")
	}
}
