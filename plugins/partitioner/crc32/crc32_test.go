package crc32

import (
	"testing"

	"github.com/mortisemq/mortise/conformance/golden"
	"github.com/mortisemq/mortise/sdk/partitioner"
)

func TestClientsPutKeysThere(t *testing.T) {
	if err := Plugin().Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ config, client, name string }{
		{`{}`, "librdkafka", "consistent_random"},
		{`{}`, "kafka-go", "crc32"},
		{`{"partitioner":"consistent"}`, "librdkafka", "consistent"},
		{`{"partitioner":"consistent"}`, "kafka-go", "crc32-consistent"},
	} {
		p, err := parse([]byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		table, err := golden.Load(c.client, c.name)
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Compare(t.Context(), p); err != nil {
			t.Errorf("%s: %v", c.config, err)
		}
	}
}

func TestKeyless(t *testing.T) {
	for _, key := range [][]byte{nil, {}} {
		if got := assignKeyed("t", key, 12); got != partitioner.Any {
			t.Errorf("consistent_random: key %q goes to %d, want Any", key, got)
		}
		if got := assign("t", key, 12); got != 0 {
			t.Errorf("consistent: key %q goes to %d, want 0", key, got)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, bad := range []string{`{"partitioner":"murmur2"}`, `{"partitioner":""}`, `{"mode":"consistent"}`, `[]`} {
		if err := Plugin().Validate([]byte(bad)); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
}

func TestAssignAllocatesNothing(t *testing.T) {
	r := &partitioner.Request{Topic: "t", Partitions: 12, Keys: golden.Keys()}
	out := make([]int32, len(r.Keys))
	p := partitioner.Func(assignKeyed)
	if n := testing.AllocsPerRun(10, func() {
		if err := p.Assign(t.Context(), r, out); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d keys, want 0", n, len(r.Keys))
	}
}
