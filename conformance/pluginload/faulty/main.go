package main

import (
	"context"
	"os"

	"github.com/mortisemq/mortise/sdk"
	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// version is set by whoever builds the command.
var version = "1.0.0"

func main() {
	fault := faultFile(os.Args[1])
	fault.start()
	about := func(name string, features ...string) plugin.Plugin {
		return plugin.Plugin{Name: name, Version: version, Features: features}
	}
	sdk.Serve(
		partitioner.Plugin(about("partitioner", partitioner.FeatureDeterministic), func(context.Context, plugin.Config) (partitioner.Partitioner, error) {
			return adder{fault}, nil
		}),
		auth.AuthenticatorPlugin(about("authenticator", auth.FeaturePassword), func(_ context.Context, c plugin.Config) (auth.Authenticator, error) {
			p, err := newPolicy(c)
			return &passwords{faults: fault, policy: p}, err
		}),
		auth.AuthorizerPlugin(about("decide"), func(_ context.Context, c plugin.Config) (auth.Authorizer, error) {
			p, err := newPolicy(c)
			return &decider{faults: fault, policy: p}, err
		}),
		auth.AuthorizerPlugin(about("push", auth.FeaturePush), func(_ context.Context, c plugin.Config) (auth.Authorizer, error) {
			p, err := newPolicy(c)
			return &pusher{decider{faults: fault, policy: p}}, err
		}),
		storage.Plugin(about("retention"), func(context.Context, plugin.Config) (storage.Retention, error) {
			return keeper{fault}, nil
		}),
	)
}
