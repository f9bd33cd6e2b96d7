package fnv1a

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
		{`{}`, "sarama", "hash"},
		{`{}`, "kgo", "sarama"},
		{`{}`, "librdkafka", "fnv1a_random"},
		{`{}`, "kafka-go", "hash"},
		{`{"modulo":"masked"}`, "sarama", "reference"},
		{`{"modulo":"masked"}`, "kafka-go", "reference"},
		{`{"modulo":"unsigned"}`, "sarama", "unsigned"},
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

func TestSignMatters(t *testing.T) {
	const h = 0x80000001 // negative as a signed number
	for name, c := range map[string]struct{ got, want int32 }{
		"signed":   {signed(h, 12), 7},
		"masked":   {masked(h, 12), 1},
		"unsigned": {unsigned(h, 12), 9},
		"smallest": {signed(0x80000000, 3), 2},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, bad := range []string{`{"modulo":"abs"}`, `{"sign":"signed"}`, `{"modulo":1}`} {
		if err := Plugin().Validate([]byte(bad)); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
}

func TestAssignAllocatesNothing(t *testing.T) {
	r := &partitioner.Request{Topic: "t", Partitions: 12, Keys: golden.Keys()}
	out := make([]int32, len(r.Keys))
	p, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() {
		if err := p.Assign(t.Context(), r, out); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d keys, want 0", n, len(r.Keys))
	}
}
