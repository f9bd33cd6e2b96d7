package pluginload_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/pluginhost"
)

// startNodes runs a cluster of count nodes in this process, each with version 1 of each
// plugin in its settings.
func startNodes(t *testing.T, count int) (*world, *nodetest.Cluster) {
	t.Helper()
	dir, err := os.MkdirTemp("", "w") // t.TempDir's name is too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, timeout: patience}
	t.Cleanup(func() { // after the nodes have ended
		http.DefaultClient.CloseIdleConnections()
		if left := w.ours(); len(left) > 0 {
			t.Errorf("processes that live on: %v", left)
		}
		os.RemoveAll(dir)
	})
	nodes := nodetest.StartMany(t, 0, nodetest.Options{})
	w.seeds = func(listener string) (all []string) {
		for _, n := range nodes.Nodes {
			if listener == open {
				all = append(all, n.Addr())
			} else {
				all = append(all, n.AddrOf(listener))
			}
		}
		return all
	}
	for range count {
		w.join(nodes)
	}
	w.control = nodes.Nodes[0].Control()
	return w, nodes
}

// join starts one more node.
func (w *world) join(nodes *nodetest.Cluster) {
	w.t.Helper()
	var catalogue []pluginhost.Spec
	for name := range kinds {
		catalogue = append(catalogue, w.spec(name, 0))
	}
	run := filepath.Join(w.dir, fmt.Sprint(len(nodes.Nodes)))
	if err := os.Mkdir(run, 0o700); err != nil {
		w.t.Fatal(err)
	}
	n := nodes.Add(nodetest.Options{Admin: true, Log: slog.New(slog.NewTextHandler(&w.notes, &slog.HandlerOptions{Level: slog.LevelDebug})), Static: config.Static{"log.retention.check.interval.ms": "20"},
		Listeners: []broker.Listener{{Name: guarded, Address: "127.0.0.1:0", SASL: &broker.SASL{Mechanisms: []string{"PLAIN"}, Plugin: "authenticator"}}},
		Security:  broker.Security{SuperUsers: []string{"User:ANONYMOUS"}, Plugins: []string{"decide", "push"}},
		Plugins:   broker.Plugins{Catalogue: catalogue, RunDir: run, Bake: 10 * patience}})
	w.admins, w.factor = append(w.admins, n.AdminAddr()), int16(len(nodes.Nodes))
}

// post changes an entry as mortise plugin does, by the admin listener of a node.
func (w *world) post(n *nodetest.Node, name, action string) {
	w.t.Helper()
	token, err := os.ReadFile(filepath.Join(n.DataDir(), "admin.token"))
	if err != nil {
		w.t.Fatal(err)
	}
	q, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://"+n.AdminAddr()+"/v1/plugins/"+name+"/"+action, strings.NewReader("{}"))
	if err != nil {
		w.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		w.t.Fatalf("%s %s: %s", action, name, r.Status)
	}
}

// all says that every plugin is so.
func all(is func(s *pluginhost.Status) bool) func(map[string]pluginhost.Status) bool {
	return func(of map[string]pluginhost.Status) bool {
		for name := range kinds {
			if s := of[name]; !is(&s) {
				return false
			}
		}
		return true
	}
}

// version says that a version serves, as wanted.
func version(v int) func(map[string]pluginhost.Status) bool {
	return all(func(s *pluginhost.Status) bool { return s.Version == versions[v] && s.Reason == "" })
}

// orderAll puts entries of all plugins into the catalogue.
func (w *world) orderAll(version int, change func(*pluginhost.Spec)) {
	w.t.Helper()
	var specs []pluginhost.Spec
	for name := range kinds {
		s := w.spec(name, version)
		change(&s)
		specs = append(specs, s)
	}
	w.order(specs...)
}

// TestRollOut takes plugins of all kinds through upgrades, bad ones too, on three nodes
// under load, of which one came later. No request fails, and all nodes do the same.
func TestRollOut(t *testing.T) {
	w, nodes := startNodes(t, 2)
	as := func(*pluginhost.Spec) {}
	w.orderAll(1, as)
	w.until("version 2 serves", version(1))
	w.join(nodes)
	w.until("the new node has version 2", version(1))
	w.topics()
	l := w.begin(0)
	l.enough()
	w.control = nodes.Nodes[2].Control()
	w.orderAll(0, as)
	w.until("version 1 serves", version(0))

	w.orderAll(1, func(s *pluginhost.Spec) { s.Version = "3.0.0" })
	w.until("all refuse what is no version 3", all(func(s *pluginhost.Status) bool {
		return s.Version == versions[0] && strings.Contains(s.Reason, "it says version")
	}))

	w.orderAll(1, func(s *pluginhost.Spec) { s.Args = []string{w.dir + "/bad-upgrade"} })
	w.until("version 2 serves again", version(1))
	w.write(w.dir+"/bad-upgrade", "kill")
	w.until("version 1 came back by itself", all(func(s *pluginhost.Status) bool {
		return s.Version == versions[0] && strings.Contains(s.Reason, pluginhost.ErrRolledBack.Error())
	}))
	for name := range kinds {
		w.post(nodes.Nodes[1], name, "rollback")
	}
	w.until("version 1 is what is wanted", version(0))
	l.end(t)
	w.kept(t)
}
