package sdktest

import (
	"context"
	"encoding/json"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// Subject is what is checked.
type Subject struct {
	Source Source
	Kind   plugin.Kind
	// Name of the plugin; empty: the only one of the kind.
	Name string
	// Config that instances get; empty: {}.
	Config json.RawMessage
	Facts  Facts
}

// Facts are what the kit can't know by itself. All are optional: without them some
// cases are skipped.
type Facts struct {
	// Login is a user whom an authenticator accepts.
	Login *Login `json:"login,omitempty"`
	// Token is a bearer token that an authenticator accepts.
	Token string `json:"token,omitempty"`
	// Uneven says that a partitioner prefers some partitions on purpose.
	Uneven bool `json:"uneven,omitempty"`
	// Open says that an authorizer allows what no rule names, because its config says so.
	Open bool `json:"open,omitempty"`
	// Change changes an authorizer's policy, each time it is called; Watch must tell
	// of it.
	Change func(ctx context.Context) error `json:"-"`
}

// Login is a user and a password.
type Login struct {
	User     string `json:"user"`
	Password string `json:"password"`
}
