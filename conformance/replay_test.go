package conformance_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/conformance/transcript"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
)

// mismatchesShown bounds what one failing transcript prints.
const mismatchesShown = 25

// static are the keys that the config file of the real Kafka sets, too.
var static = config.Static{
	"offsets.topic.replication.factor": "1", "group.initial.rebalance.delay.ms": "0",
	"group.consumer.heartbeat.interval.ms": "1000", "group.consumer.min.heartbeat.interval.ms": "500",
}

// targets are what transcripts are played against, fresh for each: a broker whose
// cluster decides in memory, and a whole node with its control plane.
var targets = []struct {
	name  string
	start func(t *testing.T) (dial func() (net.Conn, error))
}{
	{"broker", func(t *testing.T) func() (net.Conn, error) {
		return brokertest.Start(t, brokertest.Options{Loopback: true, Static: static}).Dial
	}},
	{"node", func(t *testing.T) func() (net.Conn, error) {
		return nodetest.Start(t, nodetest.Options{Static: static}).Dial
	}},
}

// TestTranscripts plays every transcript and compares with what a real Kafka 4.4 answered.
func TestTranscripts(t *testing.T) {
	each(t, "testdata", func(t *testing.T, f *transcript.File) {
		for _, target := range targets {
			t.Run(target.name, func(t *testing.T) {
				t.Parallel()
				replay(t, f, target.start(t))
			})
		}
	})
}

// TestTelemetryTranscripts plays conversations with a Kafka 4.4 that takes the metrics
// of clients (oracle/TelemetryReceiver.java).
func TestTelemetryTranscripts(t *testing.T) {
	each(t, "testdata/telemetry", func(t *testing.T, f *transcript.File) {
		replay(t, f, brokertest.Start(t, brokertest.Options{Loopback: true, Static: static, ClientTelemetry: true}).Dial)
	})
}

// each runs a test for every transcript of a folder, beside each other.
func each(t *testing.T, folder string, play func(*testing.T, *transcript.File)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("no transcripts found, want some in", folder)
	}
	for _, path := range paths {
		f, err := transcript.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			play(t, f)
		})
	}
}

func replay(t *testing.T, f *transcript.File, dial func() (net.Conn, error)) {
	t.Helper()
	bad, err := transcript.Replay(f, dial)
	report(t, bad, err)
}

// report fails the test with what differs.
func report(t *testing.T, bad []transcript.Mismatch, err error) {
	t.Helper()
	for i, m := range bad {
		if i == mismatchesShown {
			t.Errorf("%d more answers differ", len(bad)-i)
			break
		}
		t.Error(m)
	}
	if err != nil {
		t.Error(err)
	}
}
