package main

import (
	"context"
	"strings"

	"github.com/mortisemq/mortise/sdk"
	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

func main() { sdk.Serve(Plugin()) }

// Plugin is what this program serves.
func Plugin() plugin.Plugin {
	return auth.AuthorizerPlugin(plugin.Plugin{
		Name: "teams", Version: "1.0.0", Validate: plugin.NoConfig,
		Summary: "Topics and groups belong to the principal whose name they begin with.",
	}, func(context.Context, plugin.Config) (auth.Authorizer, error) { return teams{}, nil })
}

// teams has an opinion about what begins with a principal's name and a dot.
type teams struct{}

// Authorize implements auth.Authorizer.
func (teams) Authorize(_ context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	for i, a := range actions {
		out[i] = auth.Decision{Verdict: auth.Abstain, CacheTTL: auth.MaxDenyTTL}
		owned := a.Resource == auth.Topic || a.Resource == auth.Group
		if owned && a.Operation.Known() && strings.HasPrefix(a.Name, c.PrincipalName+".") {
			out[i] = auth.Decision{Verdict: auth.Allow, CacheTTL: auth.MaxAllowTTL}
		}
	}
	return nil
}

// AuthorizeByResourceType implements auth.Authorizer.
func (teams) AuthorizeByResourceType(context.Context, *auth.Client, auth.Operation, auth.ResourceType) (auth.Decision, error) {
	return auth.Decision{}, nil
}

// Watch implements auth.Authorizer: the policy never changes.
func (teams) Watch(ctx context.Context, send func(auth.Event) error) error {
	if err := send(auth.Event{Epoch: 1}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}
