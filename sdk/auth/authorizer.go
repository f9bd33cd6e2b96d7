package auth

import (
	"context"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// Features of an authorizer's plugin.
const (
	// FeatureUsesHost says that decisions depend on the client's address.
	FeatureUsesHost = "uses-host"
	// FeaturePush says that Watch sends rules, which the core matches itself.
	FeaturePush = "push"
	// FeatureStore says that the plugin wants the rules of the cluster's own store
	// (Kafka's ACLs): it implements RuleTaker.
	FeatureStore = "store"
)

// Bounds for how long a broker remembers a decision.
const (
	MaxAllowTTL = 60 * time.Second
	MaxDenyTTL  = 5 * time.Second
)

// MaxActions is the largest number of actions in one question.
const MaxActions = 4096

// Verdict on one action.
type Verdict uint8

// The verdicts. The zero value denies.
const (
	Deny Verdict = iota
	Allow
	Abstain // the next authorizer of the chain is asked; the end of the chain denies
)

// Client is who asks.
type Client struct {
	PrincipalType string
	PrincipalName string
	Groups        []string // sorted
	// Host is the IP address as netip.Addr prints it, an IPv4 address inside IPv6 as
	// IPv4; empty unless the plugin has FeatureUsesHost.
	Host     string
	Listener string
	// RequestKey is the API key of the request, -1 if there is none. It is for logs:
	// decisions must not depend on it.
	RequestKey int16
	ClientID   string // for logs only
}

// Action is one thing that somebody wants to do.
type Action struct {
	Operation Operation
	Resource  ResourceType
	Name      string // literal
	// LogIfAllowed and LogIfDenied say whether the decision is one for an audit log,
	// as Kafka's Action does.
	LogIfAllowed, LogIfDenied bool
}

// Decision answers an Action.
type Decision struct {
	Verdict  Verdict
	CacheTTL time.Duration // 0: must not be remembered
}

// Event is news about the policy.
type Event struct {
	// Epoch of the policy from now on. A greater one than before makes the broker
	// forget what it remembered.
	Epoch uint64
	// Rules replace all rules that were pushed before; nil: rules are as they were
	// (or the plugin does not push). An empty, non-nil list allows nothing.
	Rules []Rule
}

// Authorizer says what clients may do. See the package's obligations.
type Authorizer interface {
	// Authorize answers Actions[i] in out[i]; len(out) is len(actions).
	Authorize(ctx context.Context, c *Client, actions []Action, out []Decision) error
	// AuthorizeByResourceType says whether the client may do op on at least one
	// resource of the type (InitProducerId asks so).
	AuthorizeByResourceType(ctx context.Context, c *Client, op Operation, t ResourceType) (Decision, error)
	// Watch calls send with the present epoch, then with each news, one call at a
	// time, until ctx is done or send fails. It returns why it ended.
	Watch(ctx context.Context, send func(Event) error) error
}

// RuleTaker is an Authorizer with FeatureStore: it gets the cluster's ACLs.
type RuleTaker interface {
	// SetRules replaces all rules. epoch grows with every change. What it decides
	// afterwards goes by these rules, and Watch tells of them.
	SetRules(ctx context.Context, epoch uint64, rules []Rule) error
}

// AuthorizerPlugin makes a plugin of p, whose New is replaced by make.
func AuthorizerPlugin(p plugin.Plugin, make func(context.Context, plugin.Config) (Authorizer, error)) plugin.Plugin {
	p.Kind, p.New = plugin.Authorizer, plugin.Typed(make)
	return p
}
