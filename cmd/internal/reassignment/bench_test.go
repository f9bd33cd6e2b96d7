package reassignment

import (
	"fmt"
	"testing"
)

// spread are partitions with three replicas over the nodes from 1 on.
func spread(partitions, nodes int) (all []Partition) {
	for n := range partitions {
		var list []int32
		for r := range 3 {
			list = append(list, int32((n+r)%nodes+1))
		}
		all = append(all, Partition{"t", int32(n), list})
	}
	return all
}

// BenchmarkPlan is a plan for a node that comes, and for one that goes.
func BenchmarkPlan(b *testing.B) {
	for _, partitions := range []int{1000, 10_000, 30_000} {
		all := spread(partitions, 4)
		for what, nodes := range map[string][]Node{"comes": nodesOn("", "", "", "", ""), "goes": nodesOn("", "", "")} {
			b.Run(fmt.Sprintf("%s/partitions=%d", what, partitions), func(b *testing.B) {
				for b.Loop() {
					if _, err := Plan(all, Goal{Nodes: nodes}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
