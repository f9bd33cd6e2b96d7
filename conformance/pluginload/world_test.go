package pluginload_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"go.uber.org/goleak"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/sdk/plugin"
)

var (
	swaps   = flag.Int("swaps", 3, "upgrades of each plugin under load")
	faults  = flag.Int("faults", 5, "faults of the random run")
	seed    = flag.Uint64("seed", 1, "of the random run")
	broken  = flag.Bool("broken", false, "break each plugin")
	strict  = flag.Bool("strict", false, "hold throughput and latency of uninvolved traffic to their bounds")
	program = flag.String("mortise", "", "the program, for a roll-out on real processes")
)

// patience is how long anything may take on a busy machine.
const patience = time.Minute

// built has the plugin in two versions.
var built string

// Names in the environment of a process that is a broker: its directory, and built.
const beBroker, builtKey = "PLUGINLOAD_BROKER", "PLUGINLOAD_BUILT"

// versions are those of the plugin's two binaries.
var versions = [2]string{"1.0.0", "2.0.0"}

func TestMain(m *testing.M) {
	if dir := os.Getenv(beBroker); dir != "" {
		built = os.Getenv(builtKey)
		w := &world{dir: dir, timeout: patience}
		if err := w.run(options{}); err != nil {
			panic(err)
		}
		fmt.Println(w.Addr(open))
		select {}
	}
	flag.Parse()
	code := func() int {
		dir, err := os.MkdirTemp("", "pl")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		for _, version := range versions {
			build := exec.Command("go", "build", "-ldflags", "-X main.version="+version, "-o", filepath.Join(dir, version), "./faulty")
			if out, err := build.CombinedOutput(); err != nil {
				panic(fmt.Sprintf("%v\n%s", err, out))
			}
		}
		built = dir
		return m.Run()
	}()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// digests are those of the two binaries.
var digests = sync.OnceValue(func() (all [2]string) {
	for i, version := range versions {
		out, err := exec.Command("sha256sum", filepath.Join(built, version)).Output()
		if err != nil {
			panic(err)
		}
		all[i], _, _ = strings.Cut(string(out), " ")
	}
	return all
})

// kinds are the entries of the catalogue, which have the names of their plugins.
var kinds = map[string]plugin.Kind{"partitioner": plugin.Partitioner, "authenticator": plugin.Authenticator,
	"decide": plugin.Authorizer, "push": plugin.Authorizer, "retention": plugin.Retention}

// The listeners.
const (
	open    = "OPEN" // without authentication; its clients are super users
	guarded = "GUARDED"
)

// world is a broker whose plugins are processes, or a cluster of them (three_test.go).
type world struct {
	*broker.Broker
	t       testing.TB
	control meta.Control
	seeds   func(listener string) []string // where clients find it
	admins  []string                       // the admin listener of each broker
	factor  int16                          // replicas of topics
	dir     string
	ttl     time.Duration // of the answers of authenticator and authorizers
	timeout time.Duration // of calls
	only    string        // the plugin that has this timeout, others have patience; empty: all
	memory  uint64        // memory_max of the entries
	notes   notes
}

// notes are the last lines that tell of questions without an answer, of the broker and
// of its clients.
type notes struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

// notesMax is how many are kept.
const notesMax = 20

// Write implements io.Writer. Each call is a line.
func (n *notes) Write(line []byte) (int, error) {
	text := string(line)
	wanted := strings.Contains(text, "INVALID_RECORD") || strings.Contains(text, "SASL_AUTHENTICATION_FAILED") || strings.Contains(text, "metadata wait")
	if !wanted && (strings.Contains(text, "gave no answer") || strings.Contains(text, "retr") || strings.Contains(text, "unable")) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.lines = append(n.lines[max(0, len(n.lines)-notesMax+1):], text)
	}
	return len(line), nil
}

// text is all of it.
func (n *notes) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "")
}

// options change a world. The zero value has all plugins, answers that are never
// remembered, and patience with every call.
type options struct {
	ttl     time.Duration
	timeout time.Duration // 0: patience
	only    string        // whose timeout it is; empty: of all
	bake    time.Duration
	memory  uint64
	faults  map[string]string // that plugins have from the beginning
}

// start runs a broker with version 1 of each plugin.
func start(t testing.TB, o options) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "w") // t.TempDir's name is too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, ttl: o.ttl, timeout: o.timeout, only: o.only, memory: o.memory}
	if w.timeout == 0 {
		w.timeout = patience
	}
	if err := w.run(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.stop() })
	return w
}

// run makes the broker and starts it.
func (w *world) run(o options) error {
	var catalogue []pluginhost.Spec
	for name := range kinds {
		catalogue = append(catalogue, w.spec(name, 0))
	}
	if err := os.Mkdir(w.runDir(), 0o700); err != nil {
		return err
	}
	for name, fault := range o.faults {
		w.fail(name, fault)
	}
	control := brokertest.NewControl("load")
	w.control, w.factor = control, 1
	made, err := broker.New(broker.Options{FS: vfs.NewMem(), NodeID: 1, LogDirs: []string{"/data"},
		Log:    slog.New(slog.NewTextHandler(&w.notes, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Static: config.Static{"log.retention.check.interval.ms": "20"},
		Listeners: []broker.Listener{{Name: open, Address: "127.0.0.1:0"},
			{Name: guarded, Address: "127.0.0.1:0", SASL: &broker.SASL{Mechanisms: []string{"PLAIN"}, Plugin: "authenticator"}}},
		Control: control, Registrar: control, AdminAddress: "127.0.0.1:0",
		Security: broker.Security{SuperUsers: []string{"User:ANONYMOUS"}, Plugins: []string{"decide", "push"}},
		Plugins:  broker.Plugins{Catalogue: catalogue, RunDir: w.runDir(), Bake: o.bake}})
	if err != nil {
		return err
	}
	w.Broker = made
	if err := made.Start(context.Background()); err != nil {
		return err
	}
	w.seeds = func(listener string) []string { return []string{made.Addr(listener).String()} }
	w.admins = []string{made.AdminAddr().String()}
	return nil
}

// runDir is where the plugins have their directories.
func (w *world) runDir() string { return filepath.Join(w.dir, "run") }

// stop ends the broker; nothing may be left of its plugins.
func (w *world) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.Close(ctx); err != nil {
		w.t.Errorf("stop: %v", err)
	}
	if left, _ := os.ReadDir(w.runDir()); len(left) > 0 {
		w.t.Errorf("left in the run directory: %v", left)
	}
	if left := w.ours(); len(left) > 0 {
		w.t.Errorf("processes that live on: %v", left)
	}
	http.DefaultClient.CloseIdleConnections()
	os.RemoveAll(w.dir)
}

// faultOf is the file that makes a plugin fail.
func (w *world) faultOf(name string) string { return filepath.Join(w.dir, name+".fault") }

// policy is the file with the names that are refused.
func (w *world) policy() string { return filepath.Join(w.dir, "policy") }

// write puts a file in its place whole.
func (w *world) write(path, text string) {
	w.t.Helper()
	err := os.WriteFile(path+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// fail makes a plugin fail from now on; "" makes it well.
func (w *world) fail(name, fault string) {
	w.t.Helper()
	if fault != "" {
		w.write(w.faultOf(name), fault)
	} else if err := os.Remove(w.faultOf(name)); err != nil {
		w.t.Fatal(err)
	}
}

// spec is the entry of a plugin with one of the two binaries.
func (w *world) spec(name string, version int) pluginhost.Spec {
	s := pluginhost.Spec{Name: name, Kind: kinds[name], Path: filepath.Join(built, versions[version]), Version: versions[version],
		Args: []string{w.faultOf(name)}, SHA256: map[string]string{pluginhost.Platform(): digests()[version]}, Enabled: true,
		Timeout: pluginhost.Duration(w.timeout), MemoryMax: w.memory,
		Env: map[string]string{"GORACE": "atexit_sleep_ms=0"}} // the race detector's processes linger
	if w.only != "" && w.only != name {
		s.Timeout = pluginhost.Duration(patience)
	}
	if s.Kind == plugin.Authenticator || s.Kind == plugin.Authorizer {
		s.Config = fmt.Appendf(nil, `{"policy": %q, "ttl": %q}`, w.policy(), w.ttl)
	}
	return s
}

// order puts entries into the cluster's catalogue.
func (w *world) order(specs ...pluginhost.Spec) {
	w.t.Helper()
	var changes []meta.PluginChange
	for _, s := range specs {
		text, err := json.Marshal(s)
		if err != nil {
			w.t.Fatal(err)
		}
		change := meta.PluginChange{Name: s.Name, Spec: string(text)}
		if was, ok := w.control.Image().Plugin(s.Name); ok {
			change.Previous = was.Changed
		}
		changes = append(changes, change)
	}
	errs, err := w.control.AlterPlugins(w.t.Context(), changes)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range errs {
		if e != nil {
			w.t.Fatal(e)
		}
	}
}

// status asks the admin listener of the first broker about the plugins.
func (w *world) status() map[string]pluginhost.Status { return w.statusAt(w.admins[0]) }

// statusAt asks an admin listener about the plugins.
func (w *world) statusAt(admin string) map[string]pluginhost.Status {
	w.t.Helper()
	r, err := http.Get("http://" + admin + "/v1/plugins")
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Body.Close()
	var list broker.PluginList
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
		w.t.Fatal(err)
	}
	all := map[string]pluginhost.Status{}
	for _, p := range list.Plugins {
		all[p.Name] = p.Status
	}
	return all
}

// until waits until the plugins are so, on every broker.
func (w *world) until(what string, ok func(map[string]pluginhost.Status) bool) {
	w.t.Helper()
	limit := time.After(patience)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for _, admin := range w.admins {
		for now := w.statusAt(admin); !ok(now); now = w.statusAt(admin) {
			select {
			case <-look.C:
			case <-limit:
				w.t.Fatalf("after %v not yet: %s; plugins: %+v", patience, what, now)
			}
		}
	}
}

// serving waits until all plugins serve.
func (w *world) serving() {
	w.t.Helper()
	w.until("all serve", func(all map[string]pluginhost.Status) bool {
		for name := range kinds {
			if s := all[name]; s.State != pluginhost.Serving && s.State != pluginhost.Baking || s.Breaker == "open" {
				return false
			}
		}
		return true
	})
}

// client makes a client that tries everything once.
func (w *world) client(listener string, opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(w.seeds(listener)...), kgo.DisableIdempotentWrite(),
		kgo.RecordRetries(0), kgo.RequestRetries(0), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(10 * time.Millisecond), kgo.DisableClientMetrics(),
		kgo.WithLogger(kgo.BasicLogger(&w.notes, kgo.LogLevelInfo, func() string { return time.Now().Format("15:04:05.000 ") }))}, opts...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// as logs a client in.
func as(user, password string) kgo.Opt {
	return kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism())
}

// topic makes a topic of four partitions.
func (w *world) topic(name string, configs map[string]string) {
	w.t.Helper()
	r, err := w.control.CreateTopics(w.t.Context(), []meta.NewTopic{{Name: name, PartitionCount: 4, ReplicationFactor: w.factor, Configs: configs}}, false)
	if err != nil || r[0].Err != nil {
		w.t.Fatal(err, r)
	}
}
