package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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

// fakeProcess is a process with one plugin, whose faults tests choose.
type fakeProcess struct {
	host.Target
	command  host.Command
	kind     plugin.Kind
	name     string
	version  string
	features []string

	// Steps of the start; nil: they work.
	describe  func(ctx context.Context) ([]plugin.Description, error)
	validate  func(config json.RawMessage) error
	configure func(ctx context.Context, c plugin.Config) error

	// answer is asked before each call's own answer: faults. nil: none.
	answer atomic.Pointer[func(ctx context.Context) error]
	// The answers of the kinds; nil: right ones.
	assign    func(r *partitioner.Request, out []int32)
	verify    func(p *auth.Peer, user string) (auth.Result, error)
	authorize func(actions []auth.Action, out []auth.Decision)
	decide    func(logs []storage.LogFacts) []storage.Verdict
	watch     func(ctx context.Context, send func(auth.Event) error) error
	setRules  func(ctx context.Context, epoch uint64, rules []auth.Rule) error

	rss     atomic.Uint64
	hung    atomic.Bool // as after SIGSTOP
	calls   atomic.Int64
	drains  atomic.Int64
	running atomic.Int64
	lost    atomic.Int64 // calls that ran when it was stopped

	once    sync.Once
	done    chan struct{}
	exit    error // set before done is closed
	stopped atomic.Bool
}

var errKilled = errors.New("signal: killed")

// kill ends the process by itself.
func (p *fakeProcess) kill(exit error) {
	p.once.Do(func() { p.exit = exit; close(p.done) })
}

func (p *fakeProcess) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *fakeProcess) Done() <-chan struct{} { return p.done }
func (p *fakeProcess) ExitError() error      { return p.exit }
func (p *fakeProcess) PID() int              { return 4711 }
func (p *fakeProcess) RSS() (uint64, error)  { return p.rss.Load(), nil }

func (p *fakeProcess) Stop(context.Context) error {
	if p.stopped.CompareAndSwap(false, true) {
		p.lost.Add(p.running.Load())
		p.kill(nil)
	}
	return nil
}

func (p *fakeProcess) Health(ctx context.Context) error { return p.reach(ctx) }

// reach is what the transport does before anything is answered.
func (p *fakeProcess) reach(ctx context.Context) error {
	if p.ended() {
		return plugin.ErrGone
	}
	if p.hung.Load() {
		select {
		case <-p.done:
			return plugin.ErrGone
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (p *fakeProcess) Describe(ctx context.Context) ([]plugin.Description, error) {
	if err := p.reach(ctx); err != nil {
		return nil, err
	}
	if p.describe != nil {
		return p.describe(ctx)
	}
	return p.Target.Describe(ctx)
}

// make is the plugin's New.
func (p *fakeProcess) make(ctx context.Context, c plugin.Config) (any, error) {
	if err := p.reach(ctx); err != nil {
		return nil, err
	}
	if p.configure != nil {
		if err := p.configure(ctx, c); err != nil {
			return nil, err
		}
	}
	return &fakeInstance{p}, nil
}

// fault makes every call begin with f; nil: no more.
func (p *fakeProcess) fault(f func(ctx context.Context) error) {
	if f == nil {
		p.answer.Store(nil)
		return
	}
	p.answer.Store(&f)
}

// fakeInstance keeps the contracts of all kinds.
type fakeInstance struct{ p *fakeProcess }

func (i *fakeInstance) Close() error { i.p.drains.Add(1); return nil }

// call is what every answer begins with.
func (i *fakeInstance) call(ctx context.Context) error {
	i.p.calls.Add(1)
	i.p.running.Add(1)
	defer i.p.running.Add(-1)
	if err := i.p.reach(ctx); err != nil {
		return err
	}
	if f := i.p.answer.Load(); f != nil {
		if err := (*f)(ctx); err != nil {
			return err
		}
	}
	if i.p.ended() {
		return plugin.ErrGone
	}
	return nil
}

func (i *fakeInstance) Assign(ctx context.Context, r *partitioner.Request, out []int32) error {
	if err := i.call(ctx); err != nil {
		return err
	}
	if i.p.assign != nil {
		i.p.assign(r, out)
		return nil
	}
	for k, key := range r.Keys {
		out[k] = int32(len(key)) % r.Partitions
	}
	return nil
}

func (i *fakeInstance) VerifyPassword(ctx context.Context, p *auth.Peer, user string, _ []byte) (auth.Result, error) {
	if err := i.call(ctx); err != nil {
		return auth.Result{}, err
	}
	if i.p.verify != nil {
		return i.p.verify(p, user)
	}
	if user != "alice" {
		return auth.Result{Nonce: p.Nonce}, nil
	}
	return auth.Result{Outcome: auth.Accept, PrincipalType: "User", PrincipalName: user, Nonce: p.Nonce, CacheTTL: time.Minute}, nil
}

func (i *fakeInstance) ScramCredential(context.Context, *auth.Peer, string) (auth.ScramCredential, error) {
	return auth.ScramCredential{}, auth.ErrUnsupported
}

func (i *fakeInstance) ValidateToken(context.Context, *auth.Peer, []byte) (auth.Result, error) {
	return auth.Result{}, auth.ErrUnsupported
}

func (i *fakeInstance) MapCertificate(context.Context, *auth.Peer, [][]byte) (auth.Result, error) {
	return auth.Result{}, auth.ErrUnsupported
}

func (i *fakeInstance) Authorize(ctx context.Context, _ *auth.Client, actions []auth.Action, out []auth.Decision) error {
	if err := i.call(ctx); err != nil {
		return err
	}
	if i.p.authorize != nil {
		i.p.authorize(actions, out)
		return nil
	}
	for k, a := range actions {
		if a.Operation == auth.OpRead {
			out[k] = auth.Decision{Verdict: auth.Allow, CacheTTL: time.Minute}
		}
	}
	return nil
}

func (i *fakeInstance) AuthorizeByResourceType(ctx context.Context, _ *auth.Client, _ auth.Operation, _ auth.ResourceType) (auth.Decision, error) {
	return auth.Decision{Verdict: auth.Allow}, i.call(ctx)
}

func (i *fakeInstance) Watch(ctx context.Context, send func(auth.Event) error) error {
	if i.p.watch != nil {
		return i.p.watch(ctx, send)
	}
	if err := send(auth.Event{Epoch: 1}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-i.p.done:
		return plugin.ErrGone
	}
}

func (i *fakeInstance) SetRules(ctx context.Context, epoch uint64, rules []auth.Rule) error {
	if err := i.p.reach(ctx); err != nil {
		return err
	}
	if i.p.setRules != nil {
		return i.p.setRules(ctx, epoch, rules)
	}
	return nil
}

func (i *fakeInstance) Decide(ctx context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	if err := i.call(ctx); err != nil {
		return nil, err
	}
	if i.p.decide != nil {
		return i.p.decide(logs), nil
	}
	out := make([]storage.Verdict, len(logs))
	for k, l := range logs {
		out[k] = storage.Verdict{Topic: l.Topic, Partition: l.Partition, LeaderEpoch: l.LeaderEpoch}
	}
	return out, nil
}

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
