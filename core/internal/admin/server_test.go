package admin

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/metrics"
)

// serve runs a server until the test ends and returns its base URL.
func serve(t *testing.T, o Options) string {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
	if o.Ready == nil {
		o.Ready = func() Readiness { return Readiness{} }
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(o)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Errorf("Serve: %v, want nil after Shutdown", err)
		}
	})
	return "http://" + l.Addr().String()
}

// get fetches a page.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func TestReadyTellsProgress(t *testing.T) {
	now := Readiness{State: "recovering", Recovery: Recovery{LogsTotal: 10, LogsDone: 4, BytesTotal: 1000, BytesDone: 300}}
	url := serve(t, Options{Ready: func() Readiness { return now }})
	status, body := get(t, url+"/readyz")
	var got Readiness
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if status != http.StatusServiceUnavailable || got != now {
		t.Errorf("while recovering: %d %+v, want 503 %+v", status, got, now)
	}
	now.Ready = true
	if status, _ := get(t, url+"/readyz"); status != http.StatusOK {
		t.Errorf("when ready: %d, want 200", status)
	}
	if status, _ := get(t, url+"/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d, want 200", status)
	}
}

func TestConfigMasksSecrets(t *testing.T) {
	url := serve(t, Options{Config: func() []Value {
		return []Value{
			{Key: "node.id", Value: 1, Origin: "default"},
			{Key: "ssl.keystore.password", Value: "hunter2", Origin: "mortise.yaml:3"},
			{Key: "plain", Value: "hunter3", Origin: "flag --plain", Secret: true},
			{Key: "sasl.password", Value: "", Origin: "default"},
		}
	}})
	status, body := get(t, url+"/v1/config")
	if status != http.StatusOK || strings.Contains(body, "hunter") {
		t.Fatalf("%d, a secret is shown:\n%s", status, body)
	}
	if !strings.Contains(body, "mortise.yaml:3") || strings.Count(body, masked) != 2 {
		t.Errorf("want origins and two masked values:\n%s", body)
	}
}

func TestMetricsText(t *testing.T) {
	r := metrics.NewRegistry()
	r.Counter("mortise_test_bytes_total", "Bytes.", "path", "sendfile").Add(7)
	r.Gauge("mortise_test_open", "Open things.").Set(3)
	r.Histogram("mortise_test_seconds", "Times.", []float64{0.1, 1}).Observe(0.5)
	url := serve(t, Options{Metrics: r, Partitions: func(yield func(Partition) bool) {
		yield(Partition{Topic: "a", Partition: 3, LogStart: 5, LogEnd: 12, HighWatermark: 11, SizeBytes: 900})
	}})
	_, body := get(t, url+"/metrics")
	for _, want := range []string{
		`mortise_test_bytes_total{path="sendfile"} 7`, "mortise_test_open 3",
		`mortise_test_seconds_bucket{le="0.1"} 0`, `mortise_test_seconds_bucket{le="1"} 1`, "mortise_test_seconds_count 1", "go_goroutines",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
	if strings.Contains(body, "mortise_partition_") {
		t.Error("series per partition without being asked for")
	}
	_, body = get(t, url+"/metrics?partitions=true")
	if want := `mortise_partition_log_end_offset{partition="3",topic="a"} 12`; !strings.Contains(body, want) {
		t.Errorf("no %q in\n%s", want, body)
	}
}

// TestIndexNamesEveryPage holds that a person who opens the bare address finds the
// rest, and that what it names is there.
func TestIndexNamesEveryPage(t *testing.T) {
	url := serve(t, Options{Ready: func() Readiness { return Readiness{Ready: true} }, Plugins: func() Plugins { return &desk{} },
		Cluster: func() Cluster { return Cluster{} }})
	_, body := get(t, url+"/")
	pages := 0
	for _, line := range strings.Split(body, "\n") {
		path, _, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(path, "/") {
			continue
		}
		pages++
		if status, _ := get(t, url+path); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
	if pages != 8 {
		t.Errorf("%d pages, want 8:\n%s", pages, body)
	}
	if status, _ := get(t, url+"/nosuch"); status != http.StatusNotFound {
		t.Errorf("/nosuch: %d, want 404", status)
	}
}

func TestOnlyGet(t *testing.T) {
	url := serve(t, Options{})
	r, err := http.Post(url+"/v1/config", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST /v1/config: %d, want 405", r.StatusCode)
	}
	if status, _ := get(t, url+"/debug/pprof/"); status != http.StatusNotFound {
		t.Errorf("profiles without being asked for: %d, want 404", status)
	}
}

// Profiles are there when they are asked for, and for reading only.
func TestProfiles(t *testing.T) {
	url := serve(t, Options{Profiling: true})
	for path, want := range map[string]string{"": "heap", "goroutine?debug=1": "goroutine profile: total", "heap?debug=1": "heap profile:"} {
		if status, body := get(t, url+"/debug/pprof/"+path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("/debug/pprof/%s: %d, want 200 with %q", path, status, want)
		}
	}
	if status, _ := get(t, url+"/debug/pprof/nosuch"); status != http.StatusNotFound {
		t.Errorf("/debug/pprof/nosuch: %d, want 404", status)
	}
}
