package reassignment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// nodesOn are nodes 1, 2, … on the racks.
func nodesOn(racks ...string) []Node {
	var all []Node
	for i, rack := range racks {
		all = append(all, Node{int32(i + 1), rack})
	}
	return all
}

// topicOf is a topic whose partitions have these replicas.
func topicOf(name string, replicas ...[]int32) []Partition {
	var all []Partition
	for i, r := range replicas {
		all = append(all, Partition{name, int32(i), r})
	}
	return all
}

func TestGrowFromOneNode(t *testing.T) {
	all := topicOf("t", []int32{1}, []int32{1}, []int32{1})
	moves, err := Plan(all, Goal{Nodes: nodesOn("", "", ""), Factor: 3})
	if err != nil || len(moves) != 3 {
		t.Fatalf("%v, %v", moves, err)
	}
	leaders := map[int32]int{}
	for _, m := range moves {
		leaders[m.To[0]]++
		if slices.Sort(m.To); !slices.Equal(m.To, []int32{1, 2, 3}) || !slices.Equal(m.From, []int32{1}) {
			t.Errorf("%+v", m)
		}
	}
	if len(leaders) != 3 {
		t.Errorf("preferred leaders: %v, want one on each node", leaders)
	}
}

func TestNodeIsEmptied(t *testing.T) {
	all := topicOf("t", []int32{1, 2}, []int32{2, 3}, []int32{3, 1})
	moves, err := Plan(all, Goal{Nodes: []Node{{1, ""}, {3, ""}, {4, ""}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moves {
		if slices.Contains(m.To, 2) || len(m.To) != 2 {
			t.Errorf("%+v", m)
		}
	}
	if len(moves) != 2 || !slices.Equal(moves[0].To, []int32{1, 4}) || !slices.Equal(moves[1].To, []int32{4, 3}) {
		t.Errorf("%+v; only what was on node 2 may move, each in its place", moves)
	}
}

func TestNothingMovesThatIsWell(t *testing.T) {
	all := topicOf("t", []int32{1, 2, 3}, []int32{2, 3, 1}, []int32{3, 1, 2})
	if moves, err := Plan(all, Goal{Nodes: nodesOn("a", "b", "c")}); err != nil || len(moves) != 0 {
		t.Errorf("%v, %v", moves, err)
	}
}

func TestShrinkKeepsTheFirst(t *testing.T) {
	all := topicOf("t", []int32{1, 2, 3}, []int32{2, 3, 1}, []int32{3, 1, 2})
	moves, err := Plan(all, Goal{Nodes: nodesOn("", "", ""), Factor: 1})
	if err != nil || len(moves) != 3 {
		t.Fatalf("%v, %v", moves, err)
	}
	for i, m := range moves {
		if len(m.To) != 1 || m.To[0] != int32(i+1) {
			t.Errorf("%+v", m)
		}
	}
}

func TestOnlyChosenTopicsMove(t *testing.T) {
	all := append(topicOf("a", []int32{1}, []int32{1}), topicOf("b", []int32{1}, []int32{1})...)
	moves, err := Plan(all, Goal{Nodes: nodesOn("", ""), Chosen: func(p *Partition) bool { return p.Topic == "b" }})
	if err != nil || len(moves) != 2 {
		t.Fatalf("%+v, %v", moves, err)
	}
	for _, m := range moves {
		if m.Topic != "b" || m.To[0] != 2 {
			t.Errorf("%+v", m)
		}
	}
}

func TestGoalsThatCannotBe(t *testing.T) {
	all := topicOf("t", []int32{1, 2})
	if _, err := Plan(all, Goal{}); !errors.Is(err, ErrNoNodes) {
		t.Error(err)
	}
	for _, g := range []Goal{{Nodes: nodesOn(""), Factor: 2}, {Nodes: nodesOn("")}} {
		if _, err := Plan(all, g); !errors.Is(err, ErrTooFewNodes) {
			t.Error(err)
		}
	}
}

// TestPlansOfRandomClusters holds every plan to what it promises, and to end.
func TestPlansOfRandomClusters(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		nodes := make([]Node, 1+r.IntN(9))
		for i := range nodes {
			nodes[i] = Node{ID: int32(i + 1)}
			if seed%2 == 0 {
				nodes[i].Rack = fmt.Sprint("r", r.IntN(3))
			}
		}
		var all []Partition
		for p := range r.IntN(60) {
			perm := r.Perm(12)[:1+r.IntN(len(nodes))]
			replicas := make([]int32, len(perm))
			for i, id := range perm {
				replicas[i] = int32(id + 1) // some are on nodes that are no longer there
			}
			all = append(all, Partition{"t", int32(p), replicas})
		}
		g := Goal{Nodes: nodes, Factor: r.IntN(len(nodes) + 1)}
		moves, err := Plan(all, g)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		check(t, seed, all, g, moves)
	}
}

// check holds that partitions have the right number of replicas on allowed nodes, and,
// where no racks are in the way, that no node has two more than another.
func check(t *testing.T, seed uint64, all []Partition, g Goal, moves []Move) {
	t.Helper()
	to := map[int32][]int32{}
	for _, m := range moves {
		to[m.Partition] = m.To
	}
	count := map[int32]int{}
	for _, p := range all {
		want := g.Factor
		if want == 0 {
			want = len(p.Replicas)
		}
		replicas, moved := to[p.ID]
		if !moved {
			replicas = p.Replicas
		}
		seen := map[int32]bool{}
		for _, id := range replicas {
			if seen[id] || id < 1 || int(id) > len(g.Nodes) {
				t.Errorf("seed %d: %v of partition %d", seed, replicas, p.ID)
			}
			seen[id] = true
			count[id]++
		}
		if len(replicas) != want {
			t.Errorf("seed %d: partition %d has %d replicas, want %d", seed, p.ID, len(replicas), want)
		}
	}
	low, high := len(all), 0
	for _, n := range g.Nodes {
		low, high = min(low, count[n.ID]), max(high, count[n.ID])
	}
	if g.Nodes[0].Rack == "" && high-low > 1 {
		t.Errorf("seed %d: replicas on nodes %v", seed, count)
	}
}
