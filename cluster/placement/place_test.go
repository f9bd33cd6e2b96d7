package placement

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/kafka"
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
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "brokers")
		fenced := rapid.IntRange(0, n-1).Draw(t, "fenced")
		factor := rapid.IntRange(1, n).Draw(t, "factor")
		p := New(row(n, fenced), rapid.Uint64().Draw(t, "seed"), kafka.NoBroker)
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
	p := New(row(brokers, 0), 42, kafka.NoBroker)
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
	p := New(row(5, 0), 1, 3)
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
		p := New(order, 7, kafka.NoBroker)
		for n, w := range want {
			if got := p.Next(3); !slices.Equal(got, w) {
				t.Errorf("partition %d: replicas %v, want %v", n, got, w)
			}
		}
	}
}
