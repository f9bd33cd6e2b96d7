package roundrobin

import (
	"sync"
	"testing"

	"github.com/mortisemq/mortise/conformance/golden"
	"github.com/mortisemq/mortise/sdk/partitioner"
)

// perCount begins anew for each number of partitions, as the recorded producer did.
type perCount map[int32]*turns

func (p perCount) partitioner(n int32) *turns {
	if p[n] == nil {
		p[n] = &turns{}
	}
	return p[n]
}

func TestKafkasRoundRobinPartitioner(t *testing.T) {
	if err := Plugin().Check(); err != nil {
		t.Fatal(err)
	}
	table, err := golden.Load("java", "round-robin")
	if err != nil {
		t.Fatal(err)
	}
	fresh := perCount{}
	var record int
	p := partitioner.Func(func(topic string, key []byte, n int32) int32 {
		record++
		out := make([]int32, 1)
		if err := fresh.partitioner(n).Assign(t.Context(), &partitioner.Request{Topic: topic, Partitions: n, Keys: [][]byte{key}}, out); err != nil {
			t.Fatal(err)
		}
		return out[0]
	})
	if err := table.Compare(t.Context(), p); err != nil {
		t.Error(err)
	}
	if want := len(golden.Keys()) * len(golden.Counts()); record != want {
		t.Errorf("%d records, want %d", record, want)
	}
}

func TestBatchesTakeTurnsTogether(t *testing.T) {
	p := &turns{}
	const batches, size, n = 50, 7, 5
	var mu sync.Mutex
	got := make([]int, n)
	var wait sync.WaitGroup
	for range batches {
		wait.Go(func() {
			out := make([]int32, size)
			if err := p.Assign(t.Context(), &partitioner.Request{Topic: "t", Partitions: n, Keys: make([][]byte, size)}, out); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for i, to := range out {
				got[to]++
				if to != (out[0]+int32(i))%n {
					t.Errorf("batch %v is not in turn", out)
				}
			}
		})
	}
	wait.Wait()
	for to, records := range got {
		if records != batches*size/n {
			t.Errorf("partition %d got %d records, want %d", to, records, batches*size/n)
		}
	}
}

func TestOnlyPartitionsWithALeader(t *testing.T) {
	out := make([]int32, 4)
	r := &partitioner.Request{Topic: "t", Partitions: 9, Available: []int32{2, 7}, Keys: make([][]byte, 4)}
	if err := (&turns{}).Assign(t.Context(), r, out); err != nil {
		t.Fatal(err)
	}
	if out[0] != 2 || out[1] != 7 || out[2] != 2 || out[3] != 7 {
		t.Errorf("partitions %v, want 2 and 7 in turn", out)
	}
}

func TestAssignAllocatesNothing(t *testing.T) {
	p := &turns{}
	r := &partitioner.Request{Topic: "t", Partitions: 12, Keys: golden.Keys()}
	out := make([]int32, len(r.Keys))
	if n := testing.AllocsPerRun(10, func() {
		if err := p.Assign(t.Context(), r, out); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d keys, want 0", n, len(r.Keys))
	}
}
