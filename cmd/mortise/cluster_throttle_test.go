package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/meta"
)

// level brings every node up to what any of them has answered: a command asks any.
func level(t *testing.T, c *nodetest.Cluster) {
	t.Helper()
	for _, n := range c.Nodes {
		if !n.Running() {
			continue
		}
		if err := n.Control().Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// mustLevel runs a command that has to end well on a cluster that is level.
func mustLevel(t *testing.T, c *nodetest.Cluster, in string, args ...string) string {
	t.Helper()
	level(t, c)
	return must(t, c.Nodes[0].Addr(), in, args...)
}

// throttles are the configs of replication that a cluster has, as key=value.
func throttles(t *testing.T, c *nodetest.Cluster, resources ...meta.Resource) (found []string) {
	t.Helper()
	level(t, c)
	for _, r := range resources {
		for key, value := range c.Nodes[0].Control().Image().Config(r) {
			if strings.Contains(key, "replication.throttled") {
				found = append(found, key+"="+value)
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestThrottledReassignment holds that --throttle holds a move back, stays when the
// command does not wait for the end of it, and goes with --cancel, with the end of the
// move and with --unthrottle.
func TestThrottledReassignment(t *testing.T) {
	c := nodetest.StartMany(t, 2, nodetest.Options{Static: config.Static{"replica.fetch.max.bytes": "1000"}})
	at := c.Nodes[0].Addr()
	topic, one, two := meta.Resource{Type: meta.ResourceTopic, Name: "slow"}, meta.Resource{Type: meta.ResourceBroker, Name: "1"}, meta.Resource{Type: meta.ResourceBroker, Name: "2"}
	mustLevel(t, c, "", "topic", "create", "slow", "-p", "1", "-r", "1")
	mustLevel(t, c, "", "cluster", "reassign", "--to", "1", "--execute")
	for range 5 {
		mustLevel(t, c, strings.Repeat("x", 5000)+"\n", "produce", "slow")
	}

	line := "cluster reassign --topic slow --to 2 --execute --wait 10ms --throttle"
	slow := []string{"follower.replication.throttled.rate=1", "follower.replication.throttled.replicas=0:2",
		"leader.replication.throttled.rate=1", "leader.replication.throttled.replicas=0:1"}
	begin := func() {
		t.Helper()
		level(t, c)
		r := run(t, at, "", append(strings.Fields(line), "1")...)
		if r.code != output.ExitFailure || !strings.Contains(r.out, "0 of 1 partition are moved") || !strings.Contains(r.out, "--unthrottle takes it away") {
			t.Fatalf("code %d, %v: %s", r.code, r.err, r.out)
		}
		if got := throttles(t, c, topic, two); !slices.Equal(got, slow) {
			t.Fatalf("set are %v, want %v", got, slow)
		}
	}
	begin()
	if out := mustLevel(t, c, "", "cluster", "reassign", "--list"); !strings.Contains(out, "slow   0          2,1       2       1") {
		t.Errorf("listed is\n%s", out)
	}
	if out := mustLevel(t, c, "", "cluster", "reassign", "--unthrottle"); !strings.Contains(out, "0 topics and 0 nodes") {
		t.Errorf("it took away the throttle of what moves: %s", out)
	}
	if out := mustLevel(t, c, "", "cluster", "reassign", "--cancel"); out != "1 move taken back\n" {
		t.Errorf("it printed %s", out)
	}
	if got := throttles(t, c, topic, one, two); len(got) > 0 {
		t.Errorf("after --cancel there is %v", got)
	}

	if out := mustLevel(t, c, "", "cluster", "reassign", "--topic", "slow", "--to", "2", "--execute", "--throttle", "100000000"); out != "1 partition moved\n" {
		t.Errorf("it printed %s", out)
	}
	if got := throttles(t, c, topic, one, two); len(got) > 0 {
		t.Errorf("after the move there is %v", got)
	}

	mustLevel(t, c, "", "config", "set", "topic", "slow", "leader.replication.throttled.replicas=*")
	mustLevel(t, c, "", "config", "set", "broker", "2", "leader.replication.throttled.rate=5")
	if out := mustLevel(t, c, "", "cluster", "reassign", "--unthrottle"); out != "1 topic and 2 nodes are held back no more\n" {
		t.Errorf("it printed %s", out)
	}
	if got := throttles(t, c, topic, one, two); len(got) > 0 {
		t.Errorf("after --unthrottle there is %v", got)
	}
}

// TestThrottledMoveAwayFromTheDead: that a node is gone is why most people move.
func TestThrottledMoveAwayFromTheDead(t *testing.T) {
	c := nodetest.StartMany(t, 3, nodetest.Options{})
	mustLevel(t, c, "", "topic", "create", "moved", "-p", "2", "-r", "2")
	mustLevel(t, c, "", "cluster", "reassign", "--topic", "moved", "--to", "2,3", "--execute")
	mustLevel(t, c, "x\n", "produce", "moved")
	c.Nodes[2].Stop()
	c.Await(func(i *meta.Image) error {
		if b, ok := i.Broker(3); !ok || !b.Fenced {
			return errors.New("node 3 is still in service")
		}
		return nil
	})
	if out := mustLevel(t, c, "", "cluster", "reassign", "--topic", "moved", "--away", "3", "--execute", "--throttle", "100000000"); out != "2 partitions moved\n" {
		t.Errorf("it printed %s", out)
	}
	topic, one, two := meta.Resource{Type: meta.ResourceTopic, Name: "moved"}, meta.Resource{Type: meta.ResourceBroker, Name: "1"}, meta.Resource{Type: meta.ResourceBroker, Name: "2"}
	if got := throttles(t, c, topic, one, two); len(got) > 0 {
		t.Errorf("after the move there is %v", got)
	}
}
