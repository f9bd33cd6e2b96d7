package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// errKind says that a typed contract was asked of an instance of another kind.
var errKind = errors.New("instance is of another kind")

// as gives the instance as a contract.
func as[T any](i *Instance) (T, error) {
	if v, ok := i.of.value().(T); ok {
		return v, nil
	}
	var zero T
	return zero, fmt.Errorf("%w: %s %s", errKind, i.description.Kind, i.description.Name)
}

// direct is a Target of plugins in this process that are called without a
// conversation: what they answer is not checked, and a panic is the caller's.
type direct struct {
	plugins []plugin.Plugin
	done    chan struct{}
	stop    sync.Once

	mu   sync.Mutex
	next uint64 // guarded by mu: numbers instances
}

// Direct is a target of values: what a compiled-in plugin is to its broker. Its
// instances' contracts are what the plugins' New made, called without anything
// between, so answers are not checked.
func Direct(plugins ...plugin.Plugin) (Target, error) {
	for _, p := range plugins {
		if err := p.Check(); err != nil {
			return nil, err
		}
	}
	return &direct{plugins: plugins, done: make(chan struct{})}, nil
}

func (d *direct) Describe(context.Context) ([]Description, error) {
	all := make([]Description, len(d.plugins))
	for i, p := range d.plugins {
		all[i] = p.Describe()
	}
	return all, nil
}

func (d *direct) Validate(ctx context.Context, kind plugin.Kind, name string, config json.RawMessage) error {
	p, err := plugin.Find(d.plugins, kind, name)
	if err != nil {
		return err
	}
	return p.Try(ctx, config)
}

func (d *direct) Configure(ctx context.Context, kind plugin.Kind, name string, c plugin.Config) (*Instance, error) {
	p, err := plugin.Find(d.plugins, kind, name)
	if err != nil {
		return nil, err
	}
	made, err := p.Make(ctx, c)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.next++
	id := name + "-" + strconv.FormatUint(d.next, 10)
	d.mu.Unlock()
	return &Instance{id: id, description: p.Describe(), of: &directInstance{made: made}}, nil
}

func (d *direct) Health(context.Context) error { return nil }
func (d *direct) Done() <-chan struct{}        { return d.done }
func (d *direct) ExitError() error             { return nil }

func (d *direct) Stop(context.Context) error {
	d.stop.Do(func() { close(d.done) })
	return nil
}

// directInstance is a value that a plugin made.
type directInstance struct {
	made any
	once sync.Once
	err  error // of Close; set by once
}

func (i *directInstance) value() any { return i.made }

func (i *directInstance) metrics(ctx context.Context) ([]byte, error) {
	return plugin.MetricsOf(ctx, i.made)
}

// drain closes the value; who calls it without a conversation knows by itself that no
// call runs.
func (i *directInstance) drain(context.Context) error {
	i.once.Do(func() {
		if c, ok := i.made.(io.Closer); ok {
			i.err = c.Close()
		}
	})
	return i.err
}
