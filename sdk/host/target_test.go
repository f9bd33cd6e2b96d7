//go:build unix

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// counted is a partitioner that tells when it is closed.
type counted struct{ closed *int }

func (counted) Assign(context.Context, *partitioner.Request, []int32) error { return nil }
func (c counted) Close() error                                              { *c.closed++; return nil }
func (counted) Metrics(context.Context) ([]byte, error)                     { return []byte("m 1\n"), nil }

var _ io.Closer = counted{}

// TestTargetsAreAlike asks the same of a value, of the conversation in memory and of a
// process.
func TestTargetsAreAlike(t *testing.T) {
	closed := 0
	p := partitioner.Plugin(plugin.Plugin{Name: "lengths", Version: "1.2.3", Validate: plugin.NoConfig},
		func(_ context.Context, c plugin.Config) (partitioner.Partitioner, error) {
			if c.Instance == "broken" {
				return nil, errors.New("no backend")
			}
			return counted{&closed}, nil
		})
	direct, err := Direct(p)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := InProcess(p)
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]Target{"direct": direct, "memory": memory} {
		t.Run(name, func(t *testing.T) {
			closed = 0
			all, err := target.Describe(t.Context())
			if err != nil || len(all) != 1 || fmt.Sprint(all[0]) != fmt.Sprint(p.Describe()) {
				t.Errorf("describe: %v, %v", all, err)
			}
			if err := target.Health(t.Context()); err != nil {
				t.Error(err)
			}
			if err := target.Validate(t.Context(), p.Kind, p.Name, []byte(`{"x":1}`)); !errors.Is(err, plugin.ErrConfig) || !strings.Contains(err.Error(), `"x"`) {
				t.Errorf("validate: %v", err)
			}
			if err := target.Validate(t.Context(), p.Kind, "other", nil); !errors.Is(err, plugin.ErrUnsupported) {
				t.Errorf("validate another: %v", err)
			}
			if _, err := target.Configure(t.Context(), p.Kind, p.Name, plugin.Config{Instance: "broken"}); !errors.Is(err, plugin.ErrConfig) {
				t.Errorf("configure: %v", err)
			}
			one, contract := partitionerOf(t, target, "lengths")
			two, _ := partitionerOf(t, target, "lengths")
			if one.ID() == two.ID() {
				t.Error("two instances have one id")
			}
			if err := contract.Assign(t.Context(), &partitioner.Request{Partitions: 1, Keys: [][]byte{nil}}, make([]int32, 1)); err != nil {
				t.Error(err)
			}
			if text, err := one.Metrics(t.Context()); err != nil || string(text) != "m 1\n" {
				t.Errorf("metrics %q, %v", text, err)
			}
			if err := one.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			if err := one.Drain(t.Context()); err != nil {
				t.Errorf("second drain: %v", err)
			}
			if closed != 1 {
				t.Errorf("closed %d times, want 1", closed)
			}
			if err := target.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			<-target.Done()
			if err := target.Stop(t.Context()); err != nil || target.ExitError() != nil {
				t.Errorf("second stop: %v, %v", err, target.ExitError())
			}
		})
	}
}

// TestContractsByKind gets each kind's contract, and a RuleTaker only with the feature.
func TestContractsByKind(t *testing.T) {
	j := func(name string, features ...string) plugin.Plugin {
		return auth.AuthorizerPlugin(plugin.Plugin{Name: name, Version: "1", Features: features},
			func(context.Context, plugin.Config) (auth.Authorizer, error) { return takesRules{}, nil })
	}
	target, err := InProcess(
		auth.AuthenticatorPlugin(plugin.Plugin{Name: "a", Version: "1"},
			func(context.Context, plugin.Config) (auth.Authenticator, error) { return auth.NoCredentials{}, nil }),
		j("z"), j("store", auth.FeatureStore),
		storage.Plugin(plugin.Plugin{Name: "r", Version: "1"},
			func(context.Context, plugin.Config) (storage.Retention, error) { return keepAll{}, nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Stop(t.Context())
	make := func(kind plugin.Kind, name string) *Instance {
		in, err := target.Configure(t.Context(), kind, name, plugin.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	if _, err := make(plugin.Authenticator, "a").Authenticator(); err != nil {
		t.Error(err)
	}
	if _, err := make(plugin.Retention, "r").Retention(); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]bool{"z": false, "store": true} {
		a, err := make(plugin.Authorizer, name).Authorizer()
		if err != nil {
			t.Fatal(err)
		}
		if _, takes := a.(auth.RuleTaker); takes != want {
			t.Errorf("%s takes rules: %v, want %v", name, takes, want)
		}
	}
}

type keepAll struct{}

func (keepAll) Decide(context.Context, []storage.LogFacts) ([]storage.Verdict, error) {
	return nil, nil
}

type takesRules struct{}

func (takesRules) Authorize(context.Context, *auth.Client, []auth.Action, []auth.Decision) error {
	return nil
}

func (takesRules) AuthorizeByResourceType(context.Context, *auth.Client, auth.Operation, auth.ResourceType) (auth.Decision, error) {
	return auth.Decision{}, nil
}

func (takesRules) Watch(ctx context.Context, _ func(auth.Event) error) error { return ctx.Err() }

func (takesRules) SetRules(context.Context, uint64, []auth.Rule) error { return nil }
