package host

import (
	"context"
	"encoding/json"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// Description is what a plugin says about itself.
type Description = plugin.Description

// Target is plugins that can be asked: a process (Launch), the same conversation
// inside this process (InProcess), or the values themselves (Direct). All methods
// are safe for concurrent use. A call without a deadline gets one.
type Target interface {
	// Describe says which plugins there are. Its success also proves that the
	// connection works in both directions.
	Describe(ctx context.Context) ([]Description, error)
	// Validate asks whether a config could be used. It has no side effect. The error
	// is a plugin.ErrConfig if the plugin refuses it.
	Validate(ctx context.Context, kind plugin.Kind, name string, config json.RawMessage) error
	// Configure makes an instance. Several may live at once.
	Configure(ctx context.Context, kind plugin.Kind, name string, c plugin.Config) (*Instance, error)
	// Health asks whether the plugins' process answers at all.
	Health(ctx context.Context) error
	// Done is closed when nothing can be asked any more; ExitError then says why, nil
	// if it was Stop.
	Done() <-chan struct{}
	ExitError() error
	// Stop ends the target within the time of ctx and a short while, whatever its
	// plugins do, and waits until nothing of it is left. Calls that run fail; Drain
	// instances before.
	Stop(ctx context.Context) error
}

// instance is what a Target knows about an Instance.
type instance interface {
	value() any // implements the contract of the kind
	metrics(ctx context.Context) ([]byte, error)
	drain(ctx context.Context) error
}

// Instance is one plugin with one config. It implements the contract of its kind
// with every answer checked.
type Instance struct {
	id          string
	description Description
	of          instance
}

// ID names the instance inside its target; no other gets the same.
func (i *Instance) ID() string { return i.id }

// Description is the plugin's.
func (i *Instance) Description() Description { return i.description }

// Partitioner is the instance as its contract; an error if it is of another kind.
func (i *Instance) Partitioner() (partitioner.Partitioner, error) {
	return as[partitioner.Partitioner](i)
}

// Authenticator is the instance as its contract; an error if it is of another kind.
func (i *Instance) Authenticator() (auth.Authenticator, error) { return as[auth.Authenticator](i) }

// Authorizer is the instance as its contract; an error if it is of another kind. It
// is an auth.RuleTaker too if the plugin has auth.FeatureStore.
func (i *Instance) Authorizer() (auth.Authorizer, error) { return as[auth.Authorizer](i) }

// Retention is the instance as its contract; an error if it is of another kind.
func (i *Instance) Retention() (storage.Retention, error) { return as[storage.Retention](i) }

// Metrics are the plugin's own, in Prometheus' text format, at most MaxMetricsBytes;
// plugin.ErrUnsupported if it has none.
func (i *Instance) Metrics(ctx context.Context) ([]byte, error) { return i.of.metrics(ctx) }

// Drain ends the instance: no new call is taken, those that run end, then the
// plugin lets go of it. An error (deadline) says that calls may still run; the
// instance takes none anyway.
func (i *Instance) Drain(ctx context.Context) error { return i.of.drain(ctx) }
