package acl

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "allow.everyone.if.no.acl.found": {
      "description": "a resource that no rule names is open to everybody",
      "type": "boolean",
      "default": false
    }
  }
}`

type config struct {
	AllowEveryone bool `json:"allow.everyone.if.no.acl.found"`
}

// Plugin is the authorizer acl.
func Plugin() plugin.Plugin {
	return auth.AuthorizerPlugin(plugin.Plugin{
		Name:     "acl",
		Version:  "1.0.0",
		Summary:  "Kafka's ACLs, from the cluster's own store",
		Features: []string{auth.FeatureStore, auth.FeatureUsesHost},
		Schema:   []byte(schema),
		Validate: func(raw json.RawMessage) error { return plugin.Decode(raw, &config{}) },
	}, func(_ context.Context, c plugin.Config) (auth.Authorizer, error) {
		a := &authorizer{}
		return a, c.Decode(&a.config)
	})
}

// authorizer implements auth.Authorizer and auth.RuleTaker. Its Watch is News.
type authorizer struct {
	auth.News
	config  config
	matcher atomic.Pointer[auth.Matcher] // nil: no rules yet
	setting sync.Mutex                   // held while rules are replaced
}

// SetRules implements auth.RuleTaker. Rules of an epoch that is not greater than that
// of the present ones change nothing.
func (a *authorizer) SetRules(_ context.Context, epoch uint64, rules []auth.Rule) error {
	a.setting.Lock()
	defer a.setting.Unlock()
	if a.matcher.Load() != nil && epoch <= a.Epoch() {
		return nil
	}
	a.matcher.Store(auth.NewMatcher(rules))
	a.Set(auth.Event{Epoch: epoch})
	return nil
}

// Authorize implements auth.Authorizer.
func (a *authorizer) Authorize(_ context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	m, err := a.rules()
	if err != nil {
		return err
	}
	for i, action := range actions {
		out[i] = a.decision(m.Decide(c, action.Operation, action.Resource, action.Name))
	}
	return nil
}

// AuthorizeByResourceType implements auth.Authorizer.
func (a *authorizer) AuthorizeByResourceType(_ context.Context, c *auth.Client, op auth.Operation, t auth.ResourceType) (auth.Decision, error) {
	m, err := a.rules()
	if err != nil {
		return auth.Decision{}, err
	}
	return a.decision(m.DecideByResourceType(c, op, t)), nil
}

func (a *authorizer) rules() (*auth.Matcher, error) {
	m := a.matcher.Load()
	if m == nil {
		return nil, fmt.Errorf("acl: the cluster's rules have not come yet: %w", plugin.ErrUnavailable)
	}
	return m, nil
}

// decision lasts until the rules change.
func (a *authorizer) decision(v auth.Verdict) auth.Decision {
	if v == auth.Abstain && a.config.AllowEveryone {
		v = auth.Allow
	}
	if v == auth.Allow {
		return auth.Decision{Verdict: v, CacheTTL: auth.MaxAllowTTL}
	}
	return auth.Decision{Verdict: v, CacheTTL: auth.MaxDenyTTL}
}

var (
	_ auth.Authorizer = (*authorizer)(nil)
	_ auth.RuleTaker  = (*authorizer)(nil)
)
