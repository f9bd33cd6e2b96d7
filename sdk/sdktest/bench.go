package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// waits are how long the kit waits for a plugin.
type waits struct {
	grace  time.Duration // for a call after its context ended
	drain  time.Duration // for an instance to end, with calls that run
	stop   time.Duration // for a target to end
	settle time.Duration // for what a plugin opened to be closed
	news   time.Duration // for what Watch owes within a second, on a loaded machine
	end    time.Duration // for a process that owes it to end within 2 s, on a loaded machine
	memory time.Duration // for the calls after which memory is weighed: a slow plugin is asked less
}

// patient waits are for any machine.
func patient() waits {
	return waits{
		grace: 3 * time.Second, drain: 10 * time.Second, stop: 10 * time.Second,
		settle: 10 * time.Second, news: 3 * time.Second, end: 5 * time.Second,
		memory: 3 * time.Second,
	}
}

// errHangs says that a call did not return with its context.
var errHangs = errors.New("the call has not returned with its context")

// bench is where one subject is checked.
type bench struct {
	subject Subject
	logs    *journal
	mute    bool // it answers nothing; cases that ask are skipped
	waits   waits

	described plugin.Description // of the last target
	target    host.Target        // shared by cases; nil: not open
}

func newBench(s Subject) *bench {
	return &bench{subject: s, logs: &journal{to: s.Source.command.Stderr}, waits: patient()}
}

// open is the target that cases share; a new one if the last ended or was discarded.
func (b *bench) open(ctx context.Context) (host.Target, error) {
	if b.target != nil {
		select {
		case <-b.target.Done():
			b.discard()
		default:
			return b.target, nil
		}
	}
	target, _, err := b.fresh(ctx)
	if err != nil {
		return nil, err
	}
	b.target = target
	return target, nil
}

// fresh is a target of the case's own, and the description of the plugin in it.
func (b *bench) fresh(ctx context.Context) (host.Target, plugin.Description, error) {
	target, err := b.subject.Source.open(ctx, b.logs.add)
	if err != nil {
		return nil, plugin.Description{}, fmt.Errorf("start: %w", err)
	}
	d, err := b.find(ctx, target)
	if err != nil {
		b.stop(target)
		return nil, plugin.Description{}, err
	}
	b.described = d
	return target, d, nil
}

// find is the plugin's description.
func (b *bench) find(ctx context.Context, target host.Target) (plugin.Description, error) {
	all, err := target.Describe(ctx)
	if err != nil {
		return plugin.Description{}, fmt.Errorf("describe: %w", err)
	}
	var found []plugin.Description
	for _, d := range all {
		if d.Kind == b.subject.Kind && (b.subject.Name == "" || d.Name == b.subject.Name) {
			found = append(found, d)
		}
	}
	switch {
	case len(found) == 0:
		return plugin.Description{}, fmt.Errorf("there is no %s %s in it", b.subject.Kind, b.subject.Name)
	case b.subject.Name == "" && len(found) > 1:
		return plugin.Description{}, fmt.Errorf("there are %d plugins of kind %s in it: say which", len(found), b.subject.Kind)
	}
	return found[0], nil
}

// instance makes an instance with the subject's config.
func (b *bench) instance(ctx context.Context, target host.Target) (*host.Instance, error) {
	return b.configured(ctx, target, b.subject.Config)
}

func (b *bench) configured(ctx context.Context, target host.Target, config json.RawMessage) (*host.Instance, error) {
	var in *host.Instance
	err := b.guarded(ctx, func() (err error) {
		in, err = target.Configure(ctx, b.subject.Kind, b.described.Name, plugin.Config{
			JSON: bytes.Clone(config), Instance: "sdktest", ClusterID: "sdktest", BrokerID: 1, Log: slog.New(slog.NewJSONHandler(b.logs, nil)),
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("configure: %w", err)
	}
	return in, nil
}

// talk opens the shared target and makes an instance to talk with; close drains it.
func (b *bench) talk(ctx context.Context) (talk, error) {
	target, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	in, err := b.instance(ctx, target)
	if err != nil {
		return nil, err
	}
	return b.talkWith(ctx, in)
}

// drain ends an instance and wants it to end.
func (b *bench) drain(in *host.Instance) error {
	ctx, cancel := context.WithTimeout(context.Background(), b.waits.drain)
	defer cancel()
	if err := b.guarded(ctx, func() error { return in.Drain(ctx) }); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	return nil
}

// guarded runs something that runs a plugin's code: a panic is an error, and what does
// not return with its context is left behind.
func (b *bench) guarded(ctx context.Context, do func() error) error {
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				ended <- fmt.Errorf("%w: %v\n%s", plugin.ErrPanicked, r, debug.Stack())
			}
		}()
		ended <- do()
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(b.waits.grace)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return errHangs
	}
}

// discard ends the shared target; the next case gets another.
func (b *bench) discard() {
	if b.target != nil {
		b.stop(b.target)
		b.target = nil
	}
}

func (b *bench) close() { b.discard() }

// stop ends a target, whatever it thinks of that.
func (b *bench) stop(target host.Target) {
	ctx, cancel := context.WithTimeout(context.Background(), b.waits.stop)
	defer cancel()
	_ = target.Stop(ctx) // a case of its own looks at how it ends
}

// maxJournal bounds how much of what a plugin logs is kept.
const maxJournal = 4 << 20

// journal keeps what a plugin logs.
type journal struct {
	to func(line []byte) // who else wants it; may be nil

	mu   sync.Mutex
	text []byte // guarded by mu
}

func (j *journal) add(line []byte) {
	j.mu.Lock()
	if len(j.text) < maxJournal {
		j.text = append(append(j.text, line...), '\n')
	}
	j.mu.Unlock()
	if j.to != nil {
		j.to(line)
	}
}

// Write implements io.Writer for a value's own logger.
func (j *journal) Write(line []byte) (int, error) {
	j.add(bytes.TrimRight(line, "\n"))
	return len(line), nil
}

func (j *journal) holds(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return bytes.Contains(j.text, []byte(text))
}

// hangs says whether a call hung, so that nothing waits for its instance.
func hangs(err error) bool { return errors.Is(err, errHangs) }
