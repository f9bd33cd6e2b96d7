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
		v.add("under-replicated", fmt.Sprint("t-", n), "start brokers")
	}
	page := three()
	page.Nodes[1].State = nodeDraining
	page.Partitions.UnderReplicated = 6
	v.addCluster(&page)
	if len(v.Problems) != healthProblemsMax || v.ProblemsTotal != healthProblemsMax+52 {
		t.Errorf("%d problems of %d, want %d of %d", len(v.Problems), v.ProblemsTotal, healthProblemsMax, healthProblemsMax+52)
	}
	if p := v.Problems; p[0].Kind != "node-draining" || !strings.HasSuffix(p[0].Advice, "mortise cluster undrain 2") || p[1].Kind != "node-gone" || p[2].What != "t-0" {
		t.Errorf("%+v", p[:3])
	}
	quiet := &healthView{}
	quiet.addCluster(&broker.ClusterReport{Nodes: []broker.ClusterNode{{ID: 2, State: nodeDraining}}})
	if quiet.ProblemsTotal != 0 {
		t.Errorf("a drain that costs nothing is a problem: %+v", quiet.Problems)
	}
}
