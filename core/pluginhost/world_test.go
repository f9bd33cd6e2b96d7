package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// digest is any that the check of entries takes.
const digest = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// world is a Host whose processes are fakes: binaries by path.
type world struct {
	*Host
	t        testing.TB
	binaries map[string]func(p *fakeProcess) // makes the process what it is
	registry *metrics.Registry

	mu        sync.Mutex
	processes []*fakeProcess // in the order of their starts; guarded by mu
}

// inWorld runs a test in a bubble with a Host that is closed at the end.
func inWorld(t *testing.T, o Options, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, binaries: map[string]func(*fakeProcess){}, registry: metrics.NewRegistry()}
		o.Launcher, o.Metrics = w, w.registry
		w.Host = New(o)
		f(t, w)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		for i, p := range w.processes {
			if !p.ended() {
				t.Errorf("process %d lives after Close", i)
			}
		}
	})
}

// Launch implements Launcher.
func (w *world) Launch(_ context.Context, c host.Command) (Process, error) {
	make := w.binaries[c.Path]
	if make == nil {
		return nil, fmt.Errorf("%s: no such file", c.Path)
	}
	p := &fakeProcess{command: c, done: build(), kind: plugin.Partitioner, name: "p", version: "1.0.0"}
	p.validate = func(json.RawMessage) error { return nil }
	p.rss.Store(20 << 20)
	make(p)
	made := plugin.Plugin{Kind: p.kind, Name: p.name, Version: p.version, Features: p.features, New: p.make, Validate: p.validate}
	t, err := host.Direct(made)
	if err != nil {
		return nil, err
	}
	p.Target = t
	w.mu.Lock()
	defer w.mu.Unlock()
	w.processes = append(w.processes, p)
	return p, nil
}

func build() chan struct{} { return make(chan struct{}) }

// process is the i-th that was started; negative: from the end.
func (w *world) process(i int) *fakeProcess {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if i < 0 {
		i += len(w.processes)
	}
	if i < 0 || i >= len(w.processes) {
		w.t.Fatalf("%d processes were started, want one with number %d", len(w.processes), i)
	}
	return w.processes[i]
}

func (w *world) starts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.processes)
}

// binary says what runs at a path.
func (w *world) binary(path string, kind plugin.Kind, version string, more ...func(*fakeProcess)) {
	w.binaries[path] = func(p *fakeProcess) {
		p.kind, p.version = kind, version
		for _, f := range more {
			f(p)
		}
	}
}

// spec is an entry p for the binary.
func spec(kind plugin.Kind, path string) Spec {
	return Spec{Name: "p", Kind: kind, Path: path, SHA256: map[string]string{Platform(): digest}, Enabled: true}
}

// apply puts the entries into force and returns the error of the first.
func (w *world) apply(specs ...Spec) error {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return w.Apply(ctx, specs)[0].Err
}

// must is apply without an error.
func (w *world) must(specs ...Spec) {
	w.t.Helper()
	if err := w.apply(specs...); err != nil {
		w.t.Fatal(err)
	}
}

// state is that of the first entry.
func (w *world) state() Status {
	w.t.Helper()
	synctest.Wait()
	all := w.Status()
	if len(all) == 0 {
		w.t.Fatal("the catalogue is empty")
	}
	return all[0]
}

// errors is the number of calls of the first entry that failed by the cause.
func (w *world) errors(c cause) uint64 { return w.state().Errors[causeNames[c]] }

// ask puts one right question through the handle of the kind and says whether the
// answer is right.
func (w *world) ask(ctx context.Context, kind plugin.Kind) error {
	switch kind {
	case plugin.Partitioner:
		h, _ := w.Partitioner("p")
		out := make([]int32, 2)
		if err := h.Assign(ctx, &partitioner.Request{Topic: "t", Partitions: 10, Keys: [][]byte{[]byte("abc"), []byte("abcde")}}, out); err != nil {
			return err
		}
		if out[0] != 3 || out[1] != 5 {
			return fmt.Errorf("wrong answer %v", out)
		}
	case plugin.Authenticator:
		h, _ := w.Authenticator("p")
		r, err := h.VerifyPassword(ctx, &auth.Peer{Mechanism: "PLAIN", Nonce: []byte("n")}, "alice", []byte("secret"))
		if err != nil {
			return allowed(r.Outcome == auth.Accept, err)
		}
		if r.Outcome != auth.Accept || r.PrincipalName != "alice" {
			return fmt.Errorf("wrong answer %+v", r)
		}
	case plugin.Authorizer:
		h, _ := w.Authorizer("p")
		out := []auth.Decision{{Verdict: auth.Allow}, {Verdict: auth.Allow}}
		err := h.Authorize(ctx, &auth.Client{PrincipalType: "User", PrincipalName: "alice"}, []auth.Action{
			{Operation: auth.OpRead, Resource: auth.Topic, Name: "t"}, {Operation: auth.OpWrite, Resource: auth.Topic, Name: "t"}}, out)
		if err != nil {
			return allowed(out[0].Verdict != auth.Deny || out[1].Verdict != auth.Deny, err)
		}
		if out[0] != (auth.Decision{Verdict: auth.Allow, CacheTTL: time.Minute}) || out[1] != (auth.Decision{}) {
			return fmt.Errorf("wrong answer %v", out)
		}
	case plugin.Retention:
		h, _ := w.Retention("p")
		v, err := h.Decide(ctx, []storage.LogFacts{{Topic: "t", Partition: 3, LeaderEpoch: 9, Segments: make([]storage.SegmentFacts, 2)}})
		if err != nil {
			return allowed(len(v) > 0, err)
		}
		if len(v) != 1 || v[0].Partition != 3 {
			return fmt.Errorf("wrong answer %v", v)
		}
	}
	return nil
}

// allowed makes an error of an answer that came beside one.
func allowed(came bool, err error) error {
	if came {
		return fmt.Errorf("an error came with an answer that is not the zero one: %v", err)
	}
	return err
}
