package logdir

import (
	"errors"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

func TestCheckpointRoundTrip(t *testing.T) {
	var e encoder
	e.add(kafka.TopicPartition{Topic: "a", Partition: 0}, 5)
	e.add(kafka.TopicPartition{Topic: "b.c-d", Partition: 12}, 1<<40)
	got := string(e.finish())
	if want := "0\n2\na 0 5\nb.c-d 12 1099511627776\n"; got != want {
		t.Fatalf("file %q, want %q", got, want)
	}
	c, err := parseCheckpoint([]byte(got))
	if err != nil || len(c) != 2 || c[kafka.TopicPartition{Topic: "b.c-d", Partition: 12}] != 1<<40 {
		t.Fatalf("parsed %v, %v", c, err)
	}
	if again := string(e.finish()); again != "0\n0\n" {
		t.Fatalf("the next file is %q, want an empty one", again)
	}
}

// LOG-06: what Kafka would not have written is refused as a whole.
func TestCheckpointGarbageIsMalformed(t *testing.T) {
	for name, data := range map[string]string{
		"empty":           "",
		"version":         "1\n0\n",
		"no count":        "0\n",
		"count too high":  "0\n2\na 0 5\n",
		"count too low":   "0\n0\na 0 5\n",
		"negative count":  "0\n-1\n",
		"two fields":      "0\n1\na 0\n",
		"four fields":     "0\n1\na 0 5 6\n",
		"bad partition":   "0\n1\na x 5\n",
		"negative offset": "0\n1\na 0 -5\n",
		"torn line":       "0\n2\na 0 5\nb 1",
		"twice":           "0\n2\na 0 5\na 0 6\n",
		"binary":          "\x00\xff\x00\x01",
	} {
		if c, err := parseCheckpoint([]byte(data)); !errors.Is(err, errMalformed) {
			t.Errorf("%s: parsed %v, error %v, want errMalformed", name, c, err)
		}
	}
}

func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte("0\n1\na 0 5\n"))
	f.Add([]byte("0\n0\n"))
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseCheckpoint(data)
		if err != nil {
			return
		}
		var e encoder
		for tp, o := range c {
			e.add(tp, o)
		}
		again, err := parseCheckpoint(e.finish())
		if err != nil || len(again) != len(c) {
			t.Fatalf("read back %d entries, error %v, want %d", len(again), err, len(c))
		}
	})
}

func FuzzProperties(f *testing.F) {
	f.Add([]byte("version=1\ncluster.id=x\nnode.id=1\n"))
	f.Add([]byte("#\n=\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := parseProperties(data); err == nil && p.NodeID < kafka.NoBroker && p.NodeID > 1<<30 {
			t.Fatalf("node id %d", p.NodeID)
		}
	})
}

func TestParseName(t *testing.T) {
	for name, want := range map[string]kafka.TopicPartition{
		"t-0":          {Topic: "t", Partition: 0},
		"a-b.c_d-12":   {Topic: "a-b.c_d", Partition: 12},
		"t-01":         {},
		"t":            {},
		"-1":           {},
		"t--1":         {Topic: "t-", Partition: 1},
		"t-4294967296": {},
		"lost+found":   {},
		"ü-1":          {},
	} {
		got, ok := parseName(name)
		if got != want || ok != (want != kafka.TopicPartition{}) {
			t.Errorf("%q: %v, %v, want %v", name, got, ok, want)
		}
	}
}
