package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// TestMain makes the test's binary a node when a cluster starts it as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "serve" {
		os.Exit(pretend(os.Args[3]))
	}
	os.Exit(m.Run())
}

// file is what the tests look at in a settings file.
type file struct {
	Data      struct{ Dir string }
	Listeners []struct{ Name, Address, Advertised string }
	Cluster   struct {
		Listen, Advertised  string
		Join                []string
		ReplicationListener string `yaml:"replication_listener"`
	}
	Defaults map[string]string
}

// readFile reads a settings file.
func readFile(name string) (f file, err error) {
	text, err := os.ReadFile(name)
	if err == nil {
		err = yaml.Unmarshal(text, &f)
	}
	return f, err
}

// pretend is a node that only listens, until SIGTERM.
func pretend(settings string) int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	f, err := readFile(settings)
	if err != nil || f.Defaults["num.partitions"] == "13" || os.Getenv("MORTISE_NODE__ID") != "" {
		os.Stderr.WriteString("this node does not like its settings\n")
		return 3
	}
	if err := os.MkdirAll(f.Data.Dir, 0o755); err != nil {
		return 4
	}
	l, err := net.Listen("tcp", f.Listeners[0].Address)
	if err != nil {
		return 5
	}
	defer l.Close()
	<-signals
	return 0
}

// newCluster makes a cluster of this test's binary; it is killed with the test.
func newCluster(t *testing.T, n int, change func(*Options)) *Cluster {
	t.Helper()
	ports, err := FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Binary: os.Args[0], Dir: t.TempDir(), Ports: ports}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestClusterStartsAndStops(t *testing.T) {
	t.Setenv("MORTISE_NODE__ID", "7") // must not reach the nodes
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c := newCluster(t, 3, nil)
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	first, second := c.Nodes()[0], c.Nodes()[1]
	for n, want := range map[*Node]int{first: 0, second: 2} {
		f, err := readFile(n.SettingsFile())
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Cluster.Join) != want || f.Defaults["min.insync.replicas"] != "2" || f.Defaults["default.replication.factor"] != "3" {
			t.Errorf("node %d: %+v, want to join %d", n.ID, f, want)
		}
	}
	if err := first.Start(ctx); !errors.Is(err, ErrRuns) {
		t.Errorf("a second start: %v", err)
	}
	if err := errors.Join(first.Signal(syscall.SIGSTOP), first.Kill()); err != nil || first.Runs() || first.PID() != 0 {
		t.Errorf("killed: %v, runs %v", err, first.Runs())
	}
	if err := errors.Join(first.Signal(syscall.SIGTERM), first.Wipe()); err != nil {
		t.Error(err)
	}
	if err := first.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if f, err := readFile(first.SettingsFile()); err != nil || len(f.Cluster.Join) != 2 {
		t.Errorf("the founder with a new disk must join the others: %+v, %v", f, err)
	}
	if err := second.Wipe(); !errors.Is(err, ErrRuns) {
		t.Errorf("the disk of a running node was wiped: %v", err)
	}
	if err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
	if second.Runs() {
		t.Error("node 2 runs after the stop")
	}
}

func TestStartSaysWhy(t *testing.T) {
	c := newCluster(t, 1, func(o *Options) { o.Defaults = map[string]string{"num.partitions": "13"} })
	err := c.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "does not like its settings") {
		t.Error(err)
	}
	c = newCluster(t, 1, func(o *Options) { o.Binary = filepath.Join(o.Dir, "nosuch") })
	if err := c.Start(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestProxiesAreTold(t *testing.T) {
	c := newCluster(t, 2, func(o *Options) {
		o.Told = []Told{{"127.0.0.1:1", "127.0.0.1:2"}, {"127.0.0.1:3", "127.0.0.1:4"}}
		o.Replication = []int{5, 6}
	})
	var f file
	n := c.Nodes()[1]
	if err := yaml.Unmarshal([]byte(c.settings(n, true)), &f); err != nil {
		t.Fatal(err)
	}
	if f.Cluster.Advertised != "127.0.0.1:3" || f.Cluster.Listen != n.Peer() || f.Cluster.Join[0] != "127.0.0.1:1" ||
		f.Cluster.ReplicationListener != "REPLICATION" || f.Listeners[1].Address != "127.0.0.1:6" || f.Listeners[1].Advertised != "127.0.0.1:4" {
		t.Errorf("%+v", f)
	}
}

func TestNodeInAPlace(t *testing.T) {
	disk := t.TempDir()
	c := newCluster(t, 1, func(o *Options) {
		o.Places = []Place{{Host: "127.0.0.2", Inside: []string{"env", "INSIDE=yes"}, Disk: disk}}
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := c.Nodes()[0]
	if host, _, err := net.SplitHostPort(n.Clients()); err != nil || host != "127.0.0.2" {
		t.Errorf("it serves at %s", n.Clients())
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", n.PID()))
	if err == nil && !strings.Contains(string(environment), "INSIDE=yes") {
		t.Error("it does not run inside")
	}
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(disk, "data")); err != nil {
		t.Error(err)
	}
	if err := n.Wipe(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
		t.Errorf("its disk has %v, %v", left, err)
	}
	if _, err := New(Options{Dir: t.TempDir(), Ports: make([]Ports, 2), Places: make([]Place, 1)}); err == nil {
		t.Error("one place was enough for two nodes")
	}
}

func TestPorts(t *testing.T) {
	p := PortsFrom(9092, 3)
	if p[0] != (Ports{9092, 9644, 9390, 9490}) || p[2].Clients != 9094 || p[2].Admin != 9646 {
		t.Errorf("%+v", p)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	if taken := Taken([]Ports{{Clients: port}}); len(taken) == 0 || taken[0] != port {
		t.Errorf("taken: %v, want %d", taken, port)
	}
	for _, n := range []int{0, NodesMax + 1} {
		if _, err := New(Options{Dir: t.TempDir(), Ports: make([]Ports, n)}); err == nil {
			t.Errorf("%d nodes were taken", n)
		}
	}
}
