package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
)

// Kind says which contract a plugin keeps.
type Kind string

// The kinds that a broker asks for.
const (
	Partitioner   Kind = "partitioner"
	Authenticator Kind = "authenticator"
	Authorizer    Kind = "authorizer"
	Retention     Kind = "retention"
)

// Kinds are all of them, in the order in which people see them.
func Kinds() []Kind { return []Kind{Partitioner, Authenticator, Authorizer, Retention} }

// Valid says whether the kind is one that a broker knows.
func (k Kind) Valid() bool {
	for _, known := range Kinds() {
		if k == known {
			return true
		}
	}
	return false
}

// Plugin is one plugin of one kind. The packages of the kinds make it with types
// checked (partitioner.Plugin, auth.AuthenticatorPlugin, …).
type Plugin struct {
	Kind    Kind
	Name    string // lower-case letters, digits and dashes
	Version string // semantic version, without a leading v
	// Summary is one line for people.
	Summary string
	// Features are optional parts of the kind's contract that this plugin keeps
	// (constants of the kind's package). A broker never uses one that is not named.
	Features []string
	// Schema is a JSON schema of Config.JSON; nil: nothing is said about it.
	Schema json.RawMessage
	// Validate looks at a config without side effects; the error is for the operator
	// who wrote it. nil: New with the config is tried, and what it made is closed.
	Validate func(config json.RawMessage) error
	// New makes an instance, which has the interface of the kind. If it also is an
	// io.Closer, Close is called once after its last call returned.
	New func(ctx context.Context, c Config) (any, error)
}

// Config is what an instance is made with.
type Config struct {
	// JSON is the plugin's own config as the operator wrote it, as one JSON object;
	// "{}" when there is none. Use Decode, which refuses keys that are not known.
	JSON json.RawMessage
	// Instance names this use of the plugin: the name in the broker's catalogue.
	Instance  string
	ClusterID string
	BrokerID  int32 // -1: not a broker (a producer, a test)
	// Log is where the instance tells what its answers can't; nil: slog.Default().
	// It does not travel: in a process of its own an instance has the default, which
	// sdk.Serve sends to the broker.
	Log *slog.Logger
}

// Logger is Log or the default.
func (c Config) Logger() *slog.Logger { return cmp.Or(c.Log, slog.Default()) }

// Decode puts the config into the struct that v points to. A key that v lacks is an
// error that names it, as is a value of the wrong type.
func (c Config) Decode(v any) error { return Decode(c.JSON, v) }

// Typed makes a Plugin's New from one that returns the kind's interface.
func Typed[T any](make func(context.Context, Config) (T, error)) func(context.Context, Config) (any, error) {
	return func(ctx context.Context, c Config) (any, error) {
		instance, err := make(ctx, c)
		if err != nil {
			return nil, err
		}
		return instance, nil
	}
}

// Check says what is wrong with the plugin itself: an author's mistake.
func (p Plugin) Check() error {
	switch {
	case !p.Kind.Valid():
		return fmt.Errorf("plugin %q: kind %q is none of %v", p.Name, p.Kind, Kinds())
	case !ValidName(p.Name):
		return fmt.Errorf("plugin name %q: use lower-case letters, digits and dashes, at most 64", p.Name)
	case p.Version == "":
		return fmt.Errorf("plugin %s: no version", p.Name)
	case p.New == nil:
		return fmt.Errorf("plugin %s: no New", p.Name)
	}
	return p.Describe().check()
}

// ValidName says whether a plugin may have the name: 1 to 64 lower-case letters, digits
// and dashes.
func ValidName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
