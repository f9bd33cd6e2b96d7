package conformance_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/conformance/transcript"
	"github.com/mortisemq/mortise/core/brokertest"
)

// mismatchesShown bounds what one failing transcript prints.
const mismatchesShown = 25

// TestTranscripts plays every transcript against a fresh Mortise and compares with what a real Kafka 4.4 answered.
func TestTranscripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("no transcripts found, want some in testdata")
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			replay(t, path)
		})
	}
}

func replay(t *testing.T, path string) {
	f, err := transcript.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	b := brokertest.Start(t, brokertest.Options{Loopback: true})
	bad, err := transcript.Replay(f, b.Dial)
	for i, m := range bad {
		if i == mismatchesShown {
			t.Errorf("%s: %d more answers differ", path, len(bad)-i)
			break
		}
		t.Error(m)
	}
	if err != nil {
		t.Error(err)
	}
}
