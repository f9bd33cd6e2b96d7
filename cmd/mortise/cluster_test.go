package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
)

// three is the page of a cluster of three nodes of which one is gone, as node 2 has it.
func three() broker.ClusterReport {
	return broker.ClusterReport{ClusterID: "c", Broker: 2, Index: 50,
		Raft: broker.ClusterRaft{State: "leader", Leader: 2, Term: 4},
		Nodes: []broker.ClusterNode{
			{ID: 1, State: "active", Voter: true, Rack: "a", Gossip: "alive", HeartbeatAgeMS: 900, Leaders: 3, Preferred: 2, Replicas: 6,
				Listeners: []broker.ClusterListener{{Name: "PLAINTEXT", Host: "h1", Port: 9092}}},
			{ID: 2, State: "active", Voter: true, Gossip: "alive", Leaders: 3, Preferred: 2, Replicas: 6},
			{ID: 3, State: "fenced", Gossip: "dead", HeartbeatAgeMS: 65000, Preferred: 2, Replicas: 6},
		},
		Partitions: broker.ClusterPartitions{Total: 6, UnderReplicated: 6}}
}

// pageServer is an admin listener that has one page.
func pageServer(t *testing.T, path string, page any) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if err := json.NewEncoder(w).Encode(page); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestStatusFindsAllFromOne holds that one admin listener is enough to find the others,
// and that the controller's word counts.
func TestStatusFindsAllFromOne(t *testing.T) {
	follower := three()
	follower.Broker, follower.Index, follower.Raft = 1, 48, broker.ClusterRaft{State: "follower", Leader: 2, Term: 4}
	follower.Partitions.UnderReplicated = 0 // it has not heard
	leader := three()
	leader.Nodes[0].Admin = pageServer(t, "/v1/cluster", follower).Listener.Addr().String()
	s := pageServer(t, "/v1/cluster", leader)
	out := must(t, nowhere, "", "cluster", "status", "--admin", s.URL)
	for _, want := range []string{"cluster c: 3 nodes, controller 2\n6 partitions: 6 under-replicated\n", "voter, 2 behind", "a     h1:9092  3/2", "fenced  observer", "leader"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	v := decode[clusterView](t, must(t, nowhere, "", "cluster", "status", "--admin", s.URL, "-o", "json"))
	if v.Controller != 2 || len(v.Nodes) != 3 || v.Nodes[0].Raft == nil || v.Nodes[0].Index != 48 || v.Nodes[2].Raft != nil || v.NotKnown != "" {
		t.Errorf("%+v", v)
	}
	if out := must(t, nowhere, "", "cluster", "members", "--admin", s.URL); !strings.Contains(out, "dead    1m5s") || !strings.Contains(out, "alive   900ms") {
		t.Errorf("%s", out)
	}
}

// TestStatusWithoutListeners holds that Kafka's protocol alone tells of the nodes.
func TestStatusWithoutListeners(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "orders", "-p", "3")
	out := must(t, at, "", "cluster", "status", "--admin", nowhere)
	if !strings.Contains(out, ": 1 node, controller 1\n3 partitions, all in sync\n") || !strings.Contains(out, "not known: who decides") || !strings.Contains(out, "3/3") {
		t.Errorf("%s", out)
	}
	fails(t, nowhere, "", output.ExitFailure, "no broker at "+nowhere, "cluster", "status", "--admin", nowhere)
}

func TestNodesThatListenEverywhere(t *testing.T) {
	nodes := []broker.ClusterNode{
		{ID: 1, Admin: "0.0.0.0:9644", Listeners: []broker.ClusterListener{{Name: "P", Host: "h1", Port: 1}}}, {ID: 2, Admin: "h2:9644"},
		{ID: 3, Admin: ""}, {ID: 4, Admin: "h4:9644"},
	}
	if got := othersListeners(nodes, map[int32]bool{4: true}); strings.Join(got, " ") != "h1:9644 h2:9644" {
		t.Error(got)
	}
}

// TestClusterOfOne holds what these commands do where there is nothing to do.
func TestClusterOfOne(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "orders", "-p", "3")
	for _, c := range []struct{ line, want string }{
		{"cluster rebalance", "leaders of 0 partitions changed\n"},
		{"cluster reassign", "nothing has to move\n"},
		{"cluster reassign --list", "nothing is being moved\n"},
		{"cluster drain 1 --allow-offline --dry-run --admin " + nowhere, "node 1 could be drained: 0 partitions would be led by others\nwould be gone while it is stopped:\n"},
		{"cluster voters", "leader 1, epoch "},
	} {
		if out := must(t, at, "", strings.Fields(c.line)...); !strings.HasPrefix(out, c.want) {
			t.Errorf("%s: %s", c.line, out)
		}
	}
	file := filepath.Join(t.TempDir(), "plan.json")
	write(t, file, `{"version":1,"partitions":[{"topic":"orders","partition":9,"replicas":[1]}]}`)
	for _, c := range []struct {
		code       int
		line, want string
	}{
		{1, "cluster drain 1", "3 partitions would lose the last replica"},
		{1, "cluster drain 7", "node 7 does not live"},
		{1, "cluster members remove 1", "node 1 has replicas of 3 partitions, orders-0 first"},
		{1, "cluster reassign --factor 2", "more replicas than nodes: 2 and 1"},
		{1, "cluster reassign --away 1", "no node is left"},
		{1, "cluster reassign --to 5", "node 5 does not live"},
		{1, "cluster reassign --topic nosuch", "there is no topic nosuch"},
		{2, "cluster reassign --file " + file, "there is no partition orders-9"},
		{2, "cluster reassign --file nosuch", "no such file"},
		{1, "cluster voters add 5", "it is no node of the cluster"},
		{1, "cluster rebalance --topic nosuch", "topic nosuch: UNKNOWN_TOPIC"},
	} {
		fails(t, at, "", c.code, c.want, strings.Fields(c.line)...)
	}
}

// TestClusterCommandsAsJSON holds the fields that scripts read, also of what is refused.
func TestClusterCommandsAsJSON(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "orders", "-p", "3")
	r := run(t, at, "", "cluster", "drain", "1", "-o", "json")
	if d := decode[drainResult](t, r.out); r.code != output.ExitFailure || d.Node != 1 || d.Done || len(d.LastReplicas) != 3 ||
		d.LastReplicas[2].Topic != "orders" || d.LastReplicas[2].Partition != 2 || d.NotInSync == nil {
		t.Errorf("code %d: %s", r.code, r.out)
	}
	for line, want := range map[string]string{
		"cluster rebalance": `{"done":true,"leaders":[]}`, "cluster reassign": `{"done":false,"moves":[],"left":0}`, "cluster reassign --list": `[]`,
	} {
		out := must(t, at, "", append(strings.Fields(line), "-o", "json")...)
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(out)); err != nil || strings.TrimSpace(compact.String()) != want {
			t.Errorf("%s: %s (%v), want %s", line, out, err, want)
		}
	}
	if v := decode[quorumView](t, must(t, at, "", "cluster", "voters", "-o", "json")); v.Leader != 1 || len(v.Replicas) != 1 || !v.Replicas[0].Voter {
		t.Errorf("voters %+v", v)
	}
}

// What undrain promises of a node depends on whether it is there.
func TestWhatFollowsAnUndrain(t *testing.T) {
	for _, c := range []struct {
		alive  bool
		behind int
		want   string
	}{
		{false, 0, " when it is heard of: it is fenced"},
		{true, 2, "; 2 partitions there are not in sync yet"},
		{true, 0, "; mortise cluster rebalance gives it its leaders back"},
	} {
		if got := afterUndrain(c.alive, c.behind); got != c.want {
			t.Errorf("alive %v, %d behind: %q, want %q", c.alive, c.behind, got, c.want)
		}
	}
}

func TestWrongClusterCommands(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"cluster", "mortise cluster wants a sub-command"},
		{"cluster drain x", `"x" is not the id of a node`},
		{"cluster members remove -3x", "unknown shorthand flag"},
		{"cluster voters add x", `"x" is not the id of a node`},
		{"cluster reassign --factor -1", "--factor -1"},
		{"cluster reassign --file x --to 1", "--file says where everything goes"},
		{"cluster reassign --list --factor 2", "--list, --cancel and --unthrottle go with --topic only"},
		{"cluster reassign --cancel --throttle 5", "--list, --cancel and --unthrottle go with --topic only"},
		{"cluster reassign --cancel --unthrottle", "not two of them"},
		{"cluster reassign --throttle 5", "--throttle goes with --execute"},
		{"cluster reassign --throttle -5 --execute", "--throttle -5: write how many bytes a second"},
		{"cluster reassign --to 1 --away 2", "--to or --away"},
		{"dev cluster --nodes 0", "--nodes 0 is not between 1 and 9"},
		{"dev cluster --base-port 80", "--base-port 80"},
		{"dev cluster --default x", `"x" is not KEY=VALUE`},
	} {
		fails(t, nowhere, "", output.ExitUsage, c.want, strings.Fields(c.line)...)
	}
}

// TestDrainCountsWhatOthersCanLead holds that a partition with one replica is nothing to
// wait for, nor one that makes up for another when nobody leads it.
func TestDrainCountsWhatOthersCanLead(t *testing.T) {
	r := &drainResult{Node: 2}
	r.sort([]heldPartition{
		{Topic: "offline", Leader: -1, Replicas: []int32{2}},
		{Topic: "alone", Leader: 2, Replicas: []int32{2}, ISR: []int32{2}},
		{Topic: "led", Leader: 2, Replicas: []int32{2, 1, 3}, ISR: []int32{1, 2, 3}},
		{Topic: "followed", Leader: 1, Replicas: []int32{2, 1, 3}, ISR: []int32{1, 2}},
	}, map[string]int{"led": 2, "followed": 2})
	if r.Leaders != 2 || r.givable != 1 || len(r.LastReplicas) != 2 || len(r.NotInSync) != 1 || r.NotInSync[0].Topic != "followed" {
		t.Errorf("%+v", r)
	}
}

func TestMisplacedLeaders(t *testing.T) {
	topics := kadm.TopicDetails{"t": {Topic: "t", Partitions: kadm.PartitionDetails{
		0: {Topic: "t", Partition: 0, Leader: 1, Replicas: []int32{1, 2}, ISR: []int32{1, 2}},
		1: {Topic: "t", Partition: 1, Leader: 1, Replicas: []int32{2, 1}, ISR: []int32{1, 2}},
		2: {Topic: "t", Partition: 2, Leader: 1, Replicas: []int32{3, 1}, ISR: []int32{1}},
	}}}
	got := misplaced(topics)
	if len(got) != 2 || got[0].To != 2 || got[0].Error != "" || got[1].To != 3 || got[1].Error != "not in sync" {
		t.Errorf("%+v", got)
	}
}

func TestKeyIsTakenByTheSettings(t *testing.T) {
	key := strings.TrimSpace(must(t, "", "", "cluster", "key"))
	file := filepath.Join(t.TempDir(), "m.yaml")
	write(t, file, "cluster:\n  listen: \"127.0.0.1:9390\"\n  gossip: {keys: [\""+key+"\"]}\n")
	if out := must(t, "", "", "config", "check", "--config", file); out != "ok\n" {
		t.Error(out)
	}
	if again := strings.TrimSpace(must(t, "", "", "cluster", "key")); again == key {
		t.Error("the same key twice")
	}
}

// TestHealthOfAllNodes holds that health finds the nodes that one of them names, and
// tells who is missing.
func TestHealthOfAllNodes(t *testing.T) {
	second := pageServer(t, "/v1/health", map[string]any{"cluster_id": "c", "broker": 1, "ready": true, "state": "running", "partitions": 3})
	page := three()
	page.Nodes[0].Admin, page.Nodes[2].Admin = second.Listener.Addr().String(), nowhere
	page.Partitions.UnderMinISR = 2
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := any(map[string]any{"cluster_id": "c", "broker": 2, "ready": true, "state": "running", "partitions": 3})
		if r.URL.Path == "/v1/cluster" {
			body = page
		}
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}))
	defer first.Close()
	r := run(t, "", "", "health", "--admin", first.URL)
	for _, want := range []string{"not healthy: 2 problems: node-gone, under-min-isr\n", "node 3 is not there; it has 6 replicas: start it", "2 partitions refuse acks=all"} {
		if r.code != output.ExitFailure || !strings.Contains(r.out, want) {
			t.Errorf("code %d, no %q in\n%s", r.code, want, r.out)
		}
	}
	v := decode[healthView](t, run(t, "", "", "health", "--admin", first.URL, "-o", "json").out)
	if len(v.Listeners) != 2 || v.Brokers != 2 || len(v.Fenced) != 1 || v.Fenced[0] != 3 || v.UnderMinISR != 2 {
		t.Errorf("%+v", v)
	}
	page.Nodes[0].Admin = first.Listener.Addr().String() // both listen at 127.0.0.1 of their machines
	v = decode[healthView](t, run(t, "", "", "health", "--admin", first.URL, "-o", "json").out)
	if len(v.Listeners) != 1 || v.Brokers != 1 {
		t.Errorf("one broker counts more than once: %+v", v)
	}
	page.Nodes[1].Full = true
	if r := run(t, "", "", "health", "--admin", first.URL); !strings.Contains(r.out, "node-full") {
		t.Errorf("%s", r.out)
	}
	if out := must(t, nowhere, "", "cluster", "status", "--admin", first.URL); !strings.Contains(out, "active, full") {
		t.Errorf("%s", out)
	}
	page.Raft.Leader = -1
	if r := run(t, "", "", "health", "--admin", first.URL); !strings.Contains(r.out, "no-controller") {
		t.Errorf("%s", r.out)
	}
}
