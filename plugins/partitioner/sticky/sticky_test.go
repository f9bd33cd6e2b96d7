package sticky

import (
	"slices"
	"testing"

	"github.com/mortisemq/mortise/conformance/golden"
	"github.com/mortisemq/mortise/sdk/partitioner"
)

func newSticky(t *testing.T, config string) *sticky {
	t.Helper()
	s, err := parse([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func assign(t *testing.T, s *sticky, r *partitioner.Request) []int32 {
	t.Helper()
	out := make([]int32, len(r.Keys))
	if err := s.Assign(t.Context(), r, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// keyless is a question about n records without keys and with values of that size.
func keyless(n int, size int32) *partitioner.Request {
	r := &partitioner.Request{Topic: "t", Partitions: 12, Keys: make([][]byte, n), ValueSizes: make([]int32, n)}
	for i := range r.ValueSizes {
		r.ValueSizes[i] = size
	}
	return r
}

func TestKeysAreHashedAsKafkasProducerDoes(t *testing.T) {
	if err := Plugin().Check(); err != nil {
		t.Fatal(err)
	}
	table, err := golden.Load("java", "default")
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Compare(t.Context(), newSticky(t, `{}`)); err != nil {
		t.Error(err)
	}
}

func TestKeylessRecordsStayForABatch(t *testing.T) {
	s := newSticky(t, `{"bytes":1000}`)
	out := assign(t, s, keyless(100, 92)) // 100 bytes each with what frames them
	var runs []int
	for i, to := range out {
		if i == 0 || to != out[i-1] {
			runs = append(runs, 0)
		}
		runs[len(runs)-1]++
	}
	if len(runs) != 10 || slices.Max(runs) != 10 {
		t.Errorf("runs of %v records on a partition, want ten of ten", runs)
	}
}

func TestBatchGoesOnInTheNextQuestion(t *testing.T) {
	s := newSticky(t, `{"bytes":1000}`)
	first := assign(t, s, keyless(5, 92))
	second := assign(t, s, keyless(10, 92))
	if second[4] != first[0] || second[5] == first[0] {
		t.Errorf("first question %v, second %v: want the same partition for five more records", first, second)
	}
}

func TestWithoutSizesAQuestionIsABatch(t *testing.T) {
	s := newSticky(t, `{}`)
	last := int32(-1)
	for range 20 {
		r := keyless(4, 0)
		r.ValueSizes = nil
		out := assign(t, s, r)
		if out[0] != out[3] || out[0] == last {
			t.Fatalf("question %v after partition %d", out, last)
		}
		last = out[0]
	}
}

func TestEmptyRecordsMoveOn(t *testing.T) {
	s := newSticky(t, `{"bytes":80}`)
	r := keyless(11, -1)
	if out := assign(t, s, r); out[0] != out[9] || out[10] == out[0] {
		t.Errorf("partitions %v, want another after ten null values", out)
	}
}

func TestLeavesAPartitionWithoutALeader(t *testing.T) {
	s := newSticky(t, `{}`)
	now := assign(t, s, keyless(1, 1))[0]
	r := keyless(1, 1)
	for p := range r.Partitions {
		if p != now {
			r.Available = append(r.Available, p)
		}
	}
	if next := assign(t, s, r)[0]; next == now {
		t.Errorf("still partition %d, which has no leader", now)
	}
	r = keyless(1, 1)
	r.Partitions = 1
	if next := assign(t, s, r)[0]; next != 0 {
		t.Errorf("partition %d of one", next)
	}
}

func TestTopicsAreApart(t *testing.T) {
	s := newSticky(t, `{}`)
	next := 0
	s.draw = func(n int) int { next++; return next % n }
	a, b := keyless(1, 1), keyless(1, 1)
	b.Topic = "other"
	first := assign(t, s, a)[0]
	assign(t, s, b)
	if again := assign(t, s, a)[0]; again != first {
		t.Errorf("partition %d, then %d: another topic moved it", first, again)
	}
}

func TestConfig(t *testing.T) {
	for _, bad := range []string{`{"bytes":0}`, `{"bytes":-1}`, `{"bytes":"1k"}`, `{"size":1}`} {
		if err := Plugin().Validate([]byte(bad)); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
}

func TestAssignAllocatesNothing(t *testing.T) {
	s := newSticky(t, `{}`)
	r := &partitioner.Request{Topic: "t", Partitions: 12, Keys: append(golden.Keys(), make([][]byte, 1000)...)}
	out := make([]int32, len(r.Keys))
	if n := testing.AllocsPerRun(10, func() {
		if err := s.Assign(t.Context(), r, out); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d keys, want 0", n, len(r.Keys))
	}
}
