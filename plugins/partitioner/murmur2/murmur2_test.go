package murmur2

import (
	"testing"

	"github.com/mortisemq/mortise/conformance/golden"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

func TestClientsPutKeysThere(t *testing.T) {
	p := Plugin()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	made, err := p.New(t.Context(), plugin.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for client, name := range map[string]string{
		"java": "default", "kafkajs": "default", "kgo": "uniform-bytes", "librdkafka": "murmur2_random", "kafka-go": "murmur2",
	} {
		table, err := golden.Load(client, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Compare(t.Context(), made.(partitioner.Partitioner)); err != nil {
			t.Error(err)
		}
	}
}

func TestNullIsNotEmpty(t *testing.T) {
	if got := assign("t", nil, 12); got != partitioner.Any {
		t.Errorf("a null key goes to %d, want Any", got)
	}
	if got := assign("t", []byte{}, 12); got != 9 {
		t.Errorf("an empty key goes to %d of 12, Java's goes to 9", got)
	}
}

func TestNoSettings(t *testing.T) {
	if err := Plugin().Validate([]byte(`{"seed":1}`)); err == nil {
		t.Error("a key that is not known passes")
	}
}

func TestAssignAllocatesNothing(t *testing.T) {
	r := &partitioner.Request{Topic: "t", Partitions: 12, Keys: golden.Keys()}
	out := make([]int32, len(r.Keys))
	p := partitioner.Func(assign)
	if n := testing.AllocsPerRun(10, func() {
		if err := p.Assign(t.Context(), r, out); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d keys, want 0", n, len(r.Keys))
	}
}

func BenchmarkAssign(b *testing.B) {
	r := &partitioner.Request{Topic: "t", Partitions: 12}
	for range 1000 {
		r.Keys = append(r.Keys, []byte("user-1234567"))
	}
	out := make([]int32, len(r.Keys))
	p := partitioner.Func(assign)
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Assign(b.Context(), r, out); err != nil {
			b.Fatal(err)
		}
	}
}
