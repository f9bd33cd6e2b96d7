package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cmd/internal/output"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// fellow is the admin listener of a broker that has an entry p, as the cluster's change 7
// made it.
func fellow(t *testing.T, id int32, nodes []broker.ClusterNode, is func(asked int, p *broker.PluginReport)) string {
	t.Helper()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := broker.PluginReport{Status: pluginhost.Status{Name: "p", Kind: plugin.Retention, State: pluginhost.Serving, Enabled: true, Generation: 2}, From: "cluster", Changed: 7}
		list := broker.PluginList{ClusterID: "c", Broker: id, Platform: "linux/amd64", Applied: 7}
		if asked++; is != nil {
			is(asked, &p)
		}
		list.Plugins = []broker.PluginReport{p}
		var page any = list
		switch {
		case r.URL.Path == "/v1/cluster":
			page = broker.ClusterReport{ClusterID: "c", Broker: id, Nodes: nodes}
		case r.Method == http.MethodPost:
			page = broker.PluginOutcome{Plugin: &p}
		}
		if err := json.NewEncoder(w).Encode(page); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// A change is done when every broker that is up has carried it out; those that can't are
// named, and those that nobody can ask.
func TestChangesRollOut(t *testing.T) {
	t.Setenv("MORTISE_ADMIN_TOKEN", strings.Repeat("0", 64))
	late := func(asked int, p *broker.PluginReport) {
		if asked < 3 {
			p.Changed = 6
		}
	}
	broken := func(_ int, p *broker.PluginReport) { p.Reason = "no such file" }
	node := func(id int32, admin string) broker.ClusterNode {
		return broker.ClusterNode{ID: id, State: "active", Admin: admin}
	}
	nodes := []broker.ClusterNode{node(1, ""), node(2, fellow(t, 2, nil, late))}
	admin := fellow(t, 1, nodes, nil)
	if out := must(t, nowhere, "", "plugin", "enable", "p", "--admin", admin); !strings.Contains(out, "the same on broker 2\n") {
		t.Errorf("%s", out)
	}
	if out := must(t, nowhere, "", "plugin", "list", "--admin", admin); strings.Count(out, " retention ") != 2 {
		t.Errorf("%s", out)
	}
	gone := node(5, nowhere)
	gone.State = nodeFenced
	nodes = append(nodes, node(3, fellow(t, 3, nil, broken)), node(4, fellow(t, 9, nil, nil)), gone, node(6, nowhere))
	admin = fellow(t, 1, nodes, nil)
	r := run(t, nowhere, "", "plugin", "enable", "p", "--admin", admin)
	if r.code != output.ExitFailure || !strings.Contains(r.err.Error(), "on broker 3 the plugin does not serve as it says: no such file") {
		t.Errorf("code %d, %v", r.code, r.err)
	}
	for _, want := range []string{"the same on broker 2\n", "of broker 4 it is not known: at ", "is that of broker 9", "of broker 6 it is not known: no admin listener at "} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	if strings.Contains(r.out, "broker 5") {
		t.Errorf("a broker that is down is asked:\n%s", r.out)
	}
}
