package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

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
