package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// nowhere is an address where nobody listens.
const nowhere = "127.0.0.1:1"

func TestHealthOfAHealthyBroker(t *testing.T) {
	n, at := start(t)
	must(t, at, "", "topic", "create", "orders", "-p", "3")
	for _, c := range []struct{ name, line, want string }{
		{"both", "health --admin " + n.AdminAddr(), ", 1 broker, 3 partitions, "},
		{"brokers only", "health", " free of "},
	} {
		got := must(t, at, "", strings.Fields(c.line)...)
		if !strings.HasPrefix(got, "healthy: cluster ") || !strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	v := decode[healthView](t, must(t, at, "", "health", "--admin", n.AdminAddr(), "-o", "json"))
	if !v.Healthy || v.Brokers != 1 || v.Partitions != 3 || len(v.LogDirs) != 1 || v.LogDirs[0].AvailableBytes <= 0 ||
		len(v.Listeners) != 1 || !v.Listeners[0].Ready || v.Listeners[0].Broker != 1 || v.ProblemsTotal != 0 || v.NotKnown != "" {
		t.Errorf("%+v", v)
	}
}

// With only the admin address nobody is asked by Kafka's protocol.
func TestHealthByAdminAddressAlone(t *testing.T) {
	n, _ := start(t)
	r := run(t, "", "", "health", "--admin", n.AdminAddr())
	if r.err != nil || !strings.HasPrefix(r.out, "healthy: cluster ") || !strings.Contains(r.out, ", 1 broker, 0 partitions, ") {
		t.Errorf("%s%v", r.out, r.err)
	}
	r = run(t, "", "", "health", "--admin", nowhere)
	if r.code != output.ExitFailure || !strings.HasPrefix(r.out, "not healthy: 1 problem: listener-unreachable\n  admin listener 127.0.0.1:1: ") {
		t.Errorf("code %d: %s", r.code, r.out)
	}
}

func TestHealthOfNobody(t *testing.T) {
	const quiet = "127.0.0.9" // no broker of this machine is there, where 127.0.0.1:9644 may be one's
	r := run(t, quiet+":1", "", "health")
	if r.code != output.ExitFailure || !strings.HasPrefix(r.out, "not healthy: 1 problem: unreachable\n  no broker at "+quiet+":1") ||
		!strings.Contains(r.out, "  not known: recovery and failed cleanings: no admin listener at "+quiet+":9644") {
		t.Errorf("code %d: %s", r.code, r.out)
	}
}

// What a listener says is wrong is passed on with its advice, and one of another cluster
// does not count.
func TestHealthPassesProblemsOn(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		w.Write([]byte(`{"cluster_id":"c","broker":7,"ready":false,"state":"recovering","recovery":{"logs_total":9,"logs_done":4},
			"failed_cleanings":1,"partitions":9,"offline_partitions":2,"problems_total":150,
			"log_dirs":[{"path":"/d","total_bytes":-1,"available_bytes":-1,"offline":"gone"}],
			"problems":[{"kind":"failed-cleaning","what":"t-0 can't be compacted","advice":"look"}]}`)) //nolint:errcheck // the test reads it
	}))
	defer s.Close()
	r := run(t, "", "", "health", "--admin", s.URL)
	if r.code != output.ExitFailure || !strings.HasPrefix(r.out, "not healthy: 150 problems: failed-cleaning\n  broker 7: t-0 can't be compacted: look\n  and 149 more\n") {
		t.Errorf("code %d: %s", r.code, r.out)
	}
	v := decode[healthView](t, run(t, "", "", "health", "--admin", s.URL, "-o", "json").out)
	if v.Healthy || v.FailedCleanings != 1 || v.Offline != 2 || v.Listeners[0].LogsDone != 4 || v.LogDirs[0].Offline != "gone" {
		t.Errorf("%+v", v)
	}
	_, at := start(t)
	r = run(t, at, "", "health", "--admin", s.URL)
	if r.code != output.ExitFailure || !strings.Contains(r.out, "it belongs to cluster c") {
		t.Errorf("code %d: %s", r.code, r.out)
	}
}

// A topic whose cleaning failed is named by all who are asked about it.
func TestFailedCleaningIsSeenByPeople(t *testing.T) {
	n := startWith(t, map[string]string{"log.cleaner.backoff.ms": "0"})
	at := n.Addr()
	t.Setenv("MORTISE_ADMIN", n.AdminAddr())
	must(t, at, "", "topic", "create", "users", "-c", "cleanup.policy=compact", "-c", "internal.segment.bytes=1000", "-c", "min.compaction.lag.ms=600000", "-c", "min.cleanable.dirty.ratio=0.01")
	must(t, at, strings.Repeat("k:"+strings.Repeat("v", 600)+"\n", 10), "produce", "users", "--key-separator", ":", "--batch-bytes", "700")
	file := filepath.Join(n.DataDir(), "logs", "users-0", "00000000000000000000.log")
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff}, 200); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	must(t, at, "", "config", "set", "topic", "users", "min.compaction.lag.ms=0")
	var text string
	for { // compaction comes within a tenth of a second; the test's own deadline ends this
		if text = must(t, at, "", "topic", "describe", "users"); strings.Contains(text, "cleaning of partition 0 has failed: ") {
			break
		}
	}
	if !strings.Contains(text, "users-0: log is corrupt") || !strings.Contains(text, "  failed") {
		t.Error(text)
	}
	r := run(t, at, "", "health")
	if r.code != output.ExitFailure || !strings.HasPrefix(r.out, "not healthy: 1 problem: failed-cleaning\n  broker 1: users-0 can't be compacted: ") {
		t.Errorf("code %d: %s", r.code, r.out)
	}
}
