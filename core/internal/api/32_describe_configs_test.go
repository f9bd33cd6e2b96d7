package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/wire"
)

// A small request can ask for the same long list over and over again: the answer
// is bounded, and nothing is written of one that would be larger.
func TestDescribedEntriesAreBounded(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	q := kmsg.NewPtrDescribeConfigsRequest()
	q.Version = 4
	one := kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t"}
	q.Resources = []kmsg.DescribeConfigsRequestResource{one}
	resp := call[*kmsg.DescribeConfigsResponse](d, d.a.describeConfigs, q)
	n := len(resp.Resources[0].Configs)
	if n == 0 {
		t.Fatal("a topic without configs")
	}
	for range maxDescribed / n {
		q.Resources = append(q.Resources, one)
	}
	r, rec := wire.Record(q, "test")
	d.a.describeConfigs(r)
	if _, err := rec.Frame(); err == nil {
		t.Fatalf("%d entries were answered", n*len(q.Resources))
	}
}
