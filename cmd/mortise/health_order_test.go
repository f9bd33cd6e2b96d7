package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/broker"
)

// TestCausesAreToldFirst: with more partitions out of sync than are told one by one, who
// reads the first line still learns which nodes are the reason.
func TestCausesAreToldFirst(t *testing.T) {
	v := &healthView{}
	for n := range healthProblemsMax + 50 {
		v.add([]string{"under-replicated", "under-min-isr"}[n%2], fmt.Sprint("t-", n), "start brokers")
	}
	page := three()
	page.Nodes[1].State = nodeDraining
	page.Partitions.UnderReplicated, page.Partitions.UnderMinISR = 6, 2
	v.addCluster(&page)
	if len(v.Problems) != healthProblemsMax || v.ProblemsTotal != healthProblemsMax+53 {
		t.Errorf("%d problems of %d, want %d of %d", len(v.Problems), v.ProblemsTotal, healthProblemsMax, healthProblemsMax+53)
	}
	if p := v.Problems; p[0].Kind != "node-draining" || !strings.HasSuffix(p[0].Advice, "mortise cluster undrain 2") || p[1].Kind != "node-gone" || !strings.HasPrefix(p[2].What, "2 partitions refuse") || p[3].What != "t-0" {
		t.Errorf("%+v", p[:4])
	}
	quiet := &healthView{}
	quiet.addCluster(&broker.ClusterReport{Nodes: []broker.ClusterNode{{ID: 2, State: nodeDraining}}})
	if quiet.ProblemsTotal != 0 {
		t.Errorf("a drain that costs nothing is a problem: %+v", quiet.Problems)
	}
}
