package rules

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"

	"github.com/mortisemq/mortise/plugins/auth/internal/livefile"
	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "file": {"description": "a YAML file of rules, read again when it changes", "type": "string", "minLength": 1},
    "rules": {
      "description": "the same rules, here instead of in a file",
      "type": "array",
      "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["to"],
        "properties": {
          "allow": {"$ref": "#/$defs/names"}, "deny": {"$ref": "#/$defs/names"}, "to": {"$ref": "#/$defs/names"},
          "host": {"$ref": "#/$defs/names"}, "topic": {"$ref": "#/$defs/names"}, "group": {"$ref": "#/$defs/names"},
          "transactional-id": {"$ref": "#/$defs/names"}, "delegation-token": {"$ref": "#/$defs/names"},
          "user": {"$ref": "#/$defs/names"}, "cluster": {"type": "boolean"}
        }
      }
    }
  },
  "oneOf": [{"required": ["file"]}, {"required": ["rules"]}],
  "$defs": {"names": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}}
}`

type config struct {
	File  string          `json:"file"`
	Rules json.RawMessage `json:"rules"`
}

// Plugin is the authorizer rules.
func Plugin() plugin.Plugin {
	return auth.AuthorizerPlugin(plugin.Plugin{
		Name:     "rules",
		Version:  "1.0.0",
		Summary:  "a small file of who may do what",
		Features: []string{auth.FeatureUsesHost},
		Schema:   []byte(schema),
		Validate: func(raw json.RawMessage) error { _, _, err := parse(raw); return err },
	}, func(_ context.Context, c plugin.Config) (auth.Authorizer, error) {
		return open(c)
	})
}

// parse reads a config: either a file's name or a policy.
func parse(raw json.RawMessage) (file string, p *policy, err error) {
	var c config
	if err := plugin.Decode(raw, &c); err != nil {
		return "", nil, err
	}
	if (c.File == "") == (len(c.Rules) == 0) {
		return "", nil, errors.New("want either file or rules")
	}
	if c.File != "" {
		return c.File, nil, nil
	}
	// JSON is YAML: rules in the settings are read as those in a file.
	p, err = parseFile(bytes.Join([][]byte{[]byte(`{"rules":`), c.Rules, []byte(`}`)}, nil))
	return "", p, err
}

// authorizer implements auth.Authorizer. Its Watch is News.
type authorizer struct {
	auth.News
	policy atomic.Pointer[policy]
	file   *livefile.File // nil: the rules are in the config
}

func open(c plugin.Config) (*authorizer, error) {
	file, p, err := parse(c.JSON)
	if err != nil {
		return nil, err
	}
	a := &authorizer{}
	if file == "" {
		a.take(p)
		return a, nil
	}
	a.file, err = livefile.Open(file, maxFileBytes, c.Logger(), func(content []byte) error {
		p, err := parseFile(content)
		if err == nil {
			a.take(p)
		}
		return err
	})
	return a, err
}

// take makes a policy the one in force. There is one call at a time.
func (a *authorizer) take(p *policy) {
	a.policy.Store(p)
	a.Set(auth.Event{Epoch: a.Epoch() + 1})
}

// Close implements io.Closer.
func (a *authorizer) Close() error {
	if a.file == nil {
		return nil
	}
	return a.file.Close()
}

// Metrics implements plugin.Metered.
func (a *authorizer) Metrics(ctx context.Context) ([]byte, error) {
	if a.file == nil {
		return nil, nil
	}
	return a.file.Metrics(ctx)
}

// Authorize implements auth.Authorizer.
func (a *authorizer) Authorize(_ context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	m := a.policy.Load().of(c)
	for i, action := range actions {
		out[i] = decision(m.Decide(c, action.Operation, action.Resource, action.Name))
	}
	return nil
}

// AuthorizeByResourceType implements auth.Authorizer.
func (a *authorizer) AuthorizeByResourceType(_ context.Context, c *auth.Client, op auth.Operation, t auth.ResourceType) (auth.Decision, error) {
	return decision(a.policy.Load().of(c).DecideByResourceType(c, op, t)), nil
}

// decision lasts until the file changes.
func decision(v auth.Verdict) auth.Decision {
	if v == auth.Allow {
		return auth.Decision{Verdict: v, CacheTTL: auth.MaxAllowTTL}
	}
	return auth.Decision{Verdict: v, CacheTTL: auth.MaxDenyTTL}
}

var (
	_ auth.Authorizer = (*authorizer)(nil)
	_ plugin.Metered  = (*authorizer)(nil)
	_ io.Closer       = (*authorizer)(nil)
)
