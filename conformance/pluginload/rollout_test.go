package pluginload_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/cluster/local"
	"github.com/mortisemq/mortise/core/pluginhost"
)

// hereScript runs a node in the folder of its settings file, so that one path is another
// file for each node: /proc/self/cwd/….
const hereScript = "#!/bin/sh\ncd \"$(dirname \"$3\")\" && exec %q \"$@\"\n"

// herePath is the program in a node's own folder.
const herePath = "/proc/self/cwd/program"

// processes are the nodes of a cluster.
type processes struct {
	*world
	cluster *local.Cluster
}

// startProcesses makes a cluster of three processes, of which two are started.
func startProcesses(t *testing.T) *processes {
	t.Helper()
	if *program == "" {
		t.Skip("-mortise names the program; make conformance does")
	}
	binary, err := filepath.Abs(*program)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	here := filepath.Join(dir, "here")
	if err := os.WriteFile(here, fmt.Appendf(nil, hereScript, binary), 0o755); err != nil {
		t.Fatal(err)
	}
	ports, err := local.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	p := &processes{world: &world{t: t, dir: dir, factor: 3}}
	if p.cluster, err = local.New(local.Options{Binary: here, Dir: filepath.Join(dir, "nodes"), Ports: ports,
		Defaults: map[string]string{"log.retention.check.interval.ms": "100"}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.cluster.Kill(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	p.seeds = func(string) []string { return p.cluster.Brokers() }
	p.begin(1)
	p.begin(2)
	return p
}

// node is the node of an id.
func (p *processes) node(id int) *local.Node { return p.cluster.Nodes()[id-1] }

// begin starts a node.
func (p *processes) begin(id int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	if err := p.node(id).Start(ctx); err != nil {
		p.t.Fatal(err)
	}
	p.admins = append(p.admins, p.node(id).Admin())
}

// mortise runs a command on the cluster, by its first node, from that one's folder. It
// has to print, or to fail with, all of some texts.
func (p *processes) mortise(fails bool, texts []string, args ...string) {
	p.t.Helper()
	c := exec.CommandContext(p.t.Context(), *program, args...)
	if abs, err := filepath.Abs(*program); err == nil {
		c.Path = abs
	}
	c.Dir = p.node(1).Dir
	c.Env = append(os.Environ(), "MORTISE_ADMIN="+p.node(1).Admin(), "MORTISE_BROKERS="+strings.Join(p.cluster.Brokers(), ","))
	out, err := c.CombinedOutput()
	if (err != nil) != fails {
		p.t.Errorf("mortise %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	for _, text := range texts {
		if !strings.Contains(string(out), text) {
			p.t.Errorf("mortise %s: no %q in\n%s", strings.Join(args, " "), text, out)
		}
	}
}

// give puts a version of the program into a node's own folder. Its digest is not that of
// the program in built, of which nodes have kept a copy.
func (p *processes) give(id, version int) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(built, versions[version]))
	at := filepath.Join(p.node(id).Dir, filepath.Base(herePath))
	if err == nil {
		err = os.WriteFile(at+".new", append(text, 0), 0o755)
	}
	if err == nil {
		err = os.Rename(at+".new", at)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// load produces with keys and without, also where the partitioner does not want it, and
// reads it back.
func (p *processes) load() *load {
	l := p.idle()
	c := p.client(open, kgo.RequiredAcks(kgo.AllISRAcks()))
	put := func(topic, key string, partition int32) error {
		return c.ProduceSync(l.ctx, &kgo.Record{Topic: topic, Key: []byte(key), Partition: partition, Value: make([]byte, 100)}).FirstErr()
	}
	l.run("keys", func(n int) {
		key := fmt.Sprintf("key-%d", n)
		l.is("keys", "in its place", put("checked", key, place(key)), nil)
	})
	l.run("segments", func(n int) { l.is("segments", "more", put("rolled", "k", int32(n%4)), nil) })
	other := p.client(open)
	l.run("misplaced", func(n int) {
		key := fmt.Sprintf("key-%d", n)
		err := other.ProduceSync(l.ctx, &kgo.Record{Topic: "checked", Key: []byte(key), Partition: (place(key) + 1) % 4, Value: []byte("v")}).FirstErr()
		l.is("misplaced", "elsewhere", err, kerr.InvalidRecord)
	})
	reader := p.client(open, kgo.ConsumeTopics("checked", "rolled"))
	l.run("polls", func(int) {
		for _, e := range reader.PollFetches(l.ctx).Errors() {
			l.is("polls", e.Topic, e.Err, nil)
		}
	})
	l.running.Go(func() {
		<-l.ctx.Done()
		for _, c := range []*kgo.Client{c, other, reader} {
			c.Close()
		}
	})
	return l
}

// versionAt says that a version of the partitioner serves, with a text in the reason.
func versionAt(v int, reason string) func(map[string]pluginhost.Status) bool {
	return func(all map[string]pluginhost.Status) bool {
		s := all["partitioner"]
		return s.Version == versions[v] && strings.Contains(s.Reason, reason) && (s.Reason == "") == (reason == "")
	}
}

// TestRollOutOnProcesses takes plugins through mortise plugin's commands on three
// processes under load. One came later, one lacks the program of an upgrade, and one has
// another in its place: the command, the list and the health say so, what served before
// serves on there, and a restart takes the program once it is the right one. No request
// fails.
func TestRollOutOnProcesses(t *testing.T) {
	p := startProcesses(t)
	ones := []string{filepath.Join(built, versions[0]), filepath.Join(built, versions[1])}
	p.mortise(false, []string{"partitioner is serving", "the same on broker 2"}, "plugin", "install", "partitioner", ones[0], "--arg", p.faultOf("partitioner"), "--timeout", "30s")
	p.mortise(false, []string{"the same on broker 2"}, "plugin", "install", "retention", ones[0], "--arg", p.faultOf("retention"), "--disabled")
	p.mortise(false, []string{"retention is serving", "the same on broker 2"}, "plugin", "enable", "retention")
	p.begin(3)
	p.until("all nodes have the catalogue", func(all map[string]pluginhost.Status) bool {
		return all["partitioner"].State == pluginhost.Serving && all["retention"].State == pluginhost.Serving
	})
	admin := kadm.NewClient(p.client(open))
	defer admin.Close()
	value := func(s string) *string { return &s }
	for topic, configs := range map[string]map[string]*string{
		"checked": {"mortise.partitioner": value("partitioner"), "mortise.partitioner.check": value("reject")},
		"rolled":  {"mortise.retention.plugin": value("retention"), "segment.bytes": value("1048576"), "retention.ms": value("-1")},
	} {
		if r, err := admin.CreateTopic(t.Context(), 4, 3, configs, topic); err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
	}
	l := p.load()
	l.enough()
	p.mortise(false, []string{"stands by", "the same on broker 2, 3"}, "plugin", "upgrade", "partitioner", ones[1])
	p.until("version 2 serves", versionAt(1, ""))
	p.mortise(true, []string{`it says version "1.0.0"`}, "plugin", "upgrade", "partitioner", ones[0], "--version", "9.9.9")
	p.mortise(false, []string{"the same on broker 2, 3"}, "plugin", "rollback", "partitioner")
	p.until("version 1 serves", versionAt(0, ""))

	p.give(1, 1)
	p.give(2, 0)
	p.mortise(true, []string{"on broker 2 the plugin does not serve as it says", "SHA-256 of the plugin's file is not the expected one", "on broker 3", "no such file"},
		"plugin", "upgrade", "partitioner", herePath)
	p.mortise(false, []string{"the version before serves on", "baking"}, "plugin", "list")
	p.mortise(true, []string{"broker 2: plugin partitioner is", "broker 3: plugin partitioner is", "not as its entry says"}, "health")
	for id, reason := range map[int]string{2: "SHA-256", 3: "no such file"} {
		if s := p.statusAt(p.node(id).Admin())["partitioner"]; s.Version != versions[0] || !strings.Contains(s.Reason, reason) {
			t.Errorf("node %d: %+v, want version 1 and why", id, s)
		}
		log, err := os.ReadFile(p.node(id).LogFile())
		if err != nil || !strings.Contains(string(log), "plugin did not get into service") {
			t.Errorf("the log of node %d does not tell of it: %v", id, err)
		}
		p.give(id, 1)
		p.mortise(false, []string{"partitioner is baking"}, "plugin", "restart", "partitioner", "--admin", p.node(id).Admin())
	}
	p.until("version 2 serves on all", versionAt(1, ""))
	p.mortise(false, nil, "health")
	p.mortise(false, []string{"the same on broker 2, 3"}, "plugin", "disable", "retention")
	l.end(t)
	p.mortise(false, []string{"partitioner is removed", "the same on broker 2, 3"}, "plugin", "remove", "partitioner")
}
