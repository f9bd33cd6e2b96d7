package placement

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/seeded"
)

// row is n brokers, ids 1 to n, the last fenced ones fenced.
func row(n, fenced int) []Broker {
	var brokers []Broker
	for i := range n {
		brokers = append(brokers, Broker{ID: kafka.BrokerID(i + 1), Fenced: i >= n-fenced})
	}
	return brokers
}

func TestReplicasAreDistinctAndLedByUnfenced(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "brokers")
		fenced := rapid.IntRange(0, n-1).Draw(t, "fenced")
		factor := rapid.IntRange(1, n).Draw(t, "factor")
		p := New(row(n, fenced), rapid.Uint64().Draw(t, "seed"), nil)
		for range 3 * n {
			replicas := p.Next(factor)
			sorted := slices.Sorted(slices.Values(replicas))
			if len(replicas) != factor || len(slices.Compact(sorted)) != factor {
				t.Fatalf("replicas %v are not %d distinct brokers", replicas, factor)
			}
			if int(replicas[0]) > n-fenced {
				t.Fatalf("replicas %v are led by a fenced broker; unfenced are 1 to %d", replicas, n-fenced)
			}
		}
	})
}

func TestLeadersAreEven(t *testing.T) {
	const brokers, rounds = 7, 30
	p := New(row(brokers, 0), 42, nil)
	leads := map[kafka.BrokerID]int{}
	for range brokers * rounds {
		leads[p.Next(3)[0]]++
	}
	for id, n := range leads {
		if n != rounds {
			t.Errorf("broker %d leads %d partitions, want %d", id, n, rounds)
		}
	}
}

func TestGrowingGoesOnAfterTheLastLeader(t *testing.T) {
	p := New(row(5, 0), 1, []kafka.BrokerID{3, 1})
	if got := p.Next(2); !slices.Equal(got, []kafka.BrokerID{4, 5}) {
		t.Errorf("after a partition led by 3: replicas %v, want [4 5]", got)
	}
}

// The answer is part of the replicated state: when it changes, nodes of two
// builds disagree. So it is written down here.
func TestPlacementIsTheSameForever(t *testing.T) {
	brokers := row(5, 1)
	reversed := slices.Clone(brokers)
	slices.Reverse(reversed)
	want := [][]kafka.BrokerID{{4, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 1}, {1, 3, 2}, {3, 2, 4}}
	for _, order := range [][]Broker{brokers, reversed} {
		p := New(order, 7, nil)
		for n, w := range want {
			if got := p.Next(3); !slices.Equal(got, w) {
				t.Errorf("partition %d: replicas %v, want %v", n, got, w)
			}
		}
	}
}

// racked is brokers in racks a, b, … of the sizes, with ids from 1.
func racked(sizes ...int) []Broker {
	var brokers []Broker
	for n, size := range sizes {
		for range size {
			brokers = append(brokers, Broker{ID: kafka.BrokerID(len(brokers) + 1), Rack: string(rune('a' + n))})
		}
	}
	return brokers
}

// As many racks as there can be hold replicas of a partition, whatever is fenced.
func TestReplicasSpreadOverRacks(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		brokers := racked(rapid.SliceOfN(rapid.IntRange(1, 4), 1, 5).Draw(t, "racks")...)
		rackOf, racks := map[kafka.BrokerID]string{}, map[string]bool{}
		for n := range brokers {
			b := &brokers[n]
			b.Fenced = n > 0 && rapid.IntRange(0, 3).Draw(t, "fenced") == 0
			rackOf[b.ID], racks[b.Rack] = b.Rack, true
		}
		factor := rapid.IntRange(1, len(brokers)).Draw(t, "factor")
		p := New(brokers, rapid.Uint64().Draw(t, "seed"), nil)
		for range 2 * len(brokers) {
			replicas, used := p.Next(factor), map[string]bool{}
			for _, id := range replicas {
				used[rackOf[id]] = true
			}
			if want := min(factor, len(racks)); len(used) != want {
				t.Fatalf("replicas %v are in %d racks, want %d: %v", replicas, len(used), want, brokers)
			}
			if sorted := slices.Sorted(slices.Values(replicas)); len(slices.Compact(sorted)) != factor {
				t.Fatalf("replicas %v are not %d distinct brokers", replicas, factor)
			}
			if leader := slices.IndexFunc(brokers, func(b Broker) bool { return b.ID == replicas[0] }); brokers[leader].Fenced {
				t.Fatalf("replicas %v are led by a fenced broker: %v", replicas, brokers)
			}
		}
	})
}

// In equal racks every broker leads and follows equally often, or nearly so.
func TestLoadIsEvenInRacks(t *testing.T) {
	for racks := 1; racks <= 5; racks++ {
		for size := 1; size <= 6; size++ {
			for factor := 1; factor <= racks; factor++ {
				const rounds = 20
				brokers := racked(slices.Repeat([]int{size}, racks)...)
				p, leads, holds := New(brokers, 5, nil), map[kafka.BrokerID]int{}, map[kafka.BrokerID]int{}
				for range rounds * len(brokers) {
					replicas := p.Next(factor)
					leads[replicas[0]]++
					for _, id := range replicas {
						holds[id]++
					}
				}
				for _, b := range brokers {
					if n, m := leads[b.ID], holds[b.ID]; n < rounds*4/5 || n > rounds*6/5 || m < factor*rounds*4/5 || m > factor*rounds*6/5 {
						t.Errorf("%d racks of %d: broker %d leads %d partitions and holds %d, want about %d and %d", racks, size, b.ID, n, m, rounds, factor*rounds)
					}
				}
			}
		}
	}
}

// A topic that grows goes on with the next rack, and in each with the next broker.
func TestGrowingGoesOnInEachRack(t *testing.T) {
	p := New(racked(2, 2, 2), 1, []kafka.BrokerID{1, 4, 5})
	for n, want := range [][]kafka.BrokerID{{3, 6, 2}, {5, 1, 4}} {
		if got := p.Next(3); !slices.Equal(got, want) {
			t.Errorf("partition %d after [1 4 5]: replicas %v, want %v", n, got, want)
		}
	}
}

// The answer with racks is written down too.
func TestPlacementInRacksIsTheSameForever(t *testing.T) {
	p := New(racked(2, 2, 1), 7, nil)
	want := [][]kafka.BrokerID{{2, 3, 5}, {4, 5, 1}, {5, 2, 3}, {1, 4, 5}, {3, 5, 2}, {3, 2, 5}, {1, 5, 4}}
	for n, w := range want {
		if got := p.Next(3); !slices.Equal(got, w) {
			t.Errorf("partition %d: replicas %v, want %v", n, got, w)
		}
	}
}
