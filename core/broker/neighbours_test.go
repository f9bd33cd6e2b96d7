package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// told reads a page of a broker's admin listener.
func told(t *testing.T, b *brokertest.Broker, path string, into any) (status int) {
	t.Helper()
	status, body := page(t, b, path)
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatal(err)
	}
	return status
}

// TestClusterPage compares what /v1/cluster and /v1/health tell of a cluster whose
// other brokers come and go.
func TestClusterPage(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Loopback: true, Admin: true})
	ctx := context.Background()
	for id := kafka.BrokerID(2); id <= 3; id++ {
		if _, err := b.Control.RegisterBroker(ctx, meta.Registration{ID: id, Rack: "far", CleanShutdown: true}); err != nil {
			t.Fatal(err)
		}
	}
	b.AssignTopic("t", map[string]string{"min.insync.replicas": "2"}, []kafka.BrokerID{1, 2, 3}, []kafka.BrokerID{2, 1, 3}, []kafka.BrokerID{3, 2, 1})
	look := func() string {
		var r broker.ClusterReport
		if status := told(t, b, "/v1/cluster", &r); status != http.StatusOK {
			t.Fatal(status)
		}
		out := fmt.Sprintf("%+v", r.Partitions)
		for _, n := range r.Nodes {
			out += fmt.Sprintf(" %d:%s,%d,%d,%d", n.ID, n.State, n.Leaders, n.Preferred, n.Replicas)
		}
		return out
	}
	fence := func(id kafka.BrokerID) {
		other, _ := b.Control.Image().Broker(id)
		if err := b.Control.FenceBroker(id, other.Epoch); err != nil {
			t.Fatal(err)
		}
		b.Settle()
	}
	for _, s := range []struct {
		do   func()
		want string
	}{
		{func() {}, "{Total:3 Offline:0 UnderReplicated:0 UnderMinISR:0 Reassigning:0} 1:active,1,1,3 2:active,1,1,3 3:active,1,1,3"},
		{func() { fence(3) }, "{Total:3 Offline:0 UnderReplicated:3 UnderMinISR:0 Reassigning:0} 1:active,1,1,3 2:active,2,1,3 3:fenced,0,1,3"},
		{func() { fence(2) }, "{Total:3 Offline:0 UnderReplicated:3 UnderMinISR:3 Reassigning:0} 1:active,3,1,3 2:fenced,0,1,3 3:fenced,0,1,3"},
		{func() { fence(1) }, "{Total:3 Offline:3 UnderReplicated:3 UnderMinISR:3 Reassigning:0} 1:fenced,0,1,3 2:fenced,0,1,3 3:fenced,0,1,3"},
	} {
		s.do()
		if got := look(); got != s.want {
			t.Errorf("got  %s\nwant %s", got, s.want)
		}
	}
	var h broker.HealthReport
	if status := told(t, b, "/v1/health", &h); status != http.StatusServiceUnavailable || h.Leaderless != 3 {
		t.Errorf("health: %d, %d without a leader; want 503 and 3", status, h.Leaderless)
	}
	kinds := ""
	for _, p := range h.Problems {
		kinds += p.Kind + " "
	}
	if want := "fenced no-leader no-leader no-leader "; kinds != want {
		t.Errorf("problems %q, want %q", kinds, want)
	}
	r, err := b.HTTP().Post("http://"+b.AdminAddr()+"/v1/cluster/drain", "application/json", strings.NewReader(`{"broker": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stranger drains: %d", r.StatusCode)
	}
}
