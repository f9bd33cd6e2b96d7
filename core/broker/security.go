package broker

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/internal/security"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/auth"
)

// SASL says how the clients of a listener authenticate.
type SASL struct {
	Mechanisms []string // PLAIN
	// Plugin is the authenticator's name in the plugin catalogue; empty: Authenticator,
	// which is compiled in by whoever makes the broker.
	Plugin        string
	Authenticator auth.Authenticator
	// SuperUsers believes the authenticator when it says that a client is a super
	// user. A plugin that the operator did not write is not trusted with that.
	SuperUsers bool
}

// Authorizer is one of those that say what clients may do.
type Authorizer = security.Link

// Security is who may do what.
type Security struct {
	// SuperUsers may do everything: User:admin for example.
	SuperUsers []string
	// Authorizers are asked in this order until one does not abstain; none: everybody
	// may do everything.
	Authorizers []Authorizer
	// Plugins are authorizers by their names in the plugin catalogue; they are asked
	// after Authorizers.
	Plugins []string
}

// check returns what is wrong with the listeners' SASL.
func (s *SASL) check(listener string) error {
	switch {
	case s == nil:
		return nil
	case s.Authenticator == nil && s.Plugin == "":
		return fmt.Errorf("listener %s: SASL without an authenticator", listener)
	case len(s.Mechanisms) == 0:
		return fmt.Errorf("listener %s: SASL without a mechanism", listener)
	}
	var errs []error
	for _, m := range s.Mechanisms {
		if m != security.Plain {
			errs = append(errs, fmt.Errorf("listener %s: SASL mechanism %q: there is %s", listener, m, security.Plain))
		}
	}
	return errors.Join(errs...)
}

// newGate makes what finds out who clients are.
func (b *Broker) newGate() *security.Gate {
	o := &b.options
	var listeners []security.Listener
	for _, l := range o.Listeners {
		if l.SASL == nil {
			continue
		}
		sasl := security.Listener{Name: l.Name, SecurityProtocol: "SASL_PLAINTEXT",
			Mechanisms: l.SASL.Mechanisms, Authenticator: l.SASL.Authenticator, SuperUsers: l.SASL.SuperUsers}
		if l.SASL.Plugin != "" {
			plugin, _ := b.plugins.host.Authenticator(l.SASL.Plugin)
			sasl.Authenticator, sasl.Generation = plugin, plugin.Generation
		}
		listeners = append(listeners, sasl)
	}
	return security.NewGate(security.GateOptions{Listeners: listeners, Reserved: b.superUser,
		MaxReauth: func() time.Duration { return time.Duration(b.config().MaxReauthMS) * time.Millisecond },
		Clock:     o.Clock, Log: b.log("security"), Metrics: o.Metrics})
}

// superUser says whether a principal may do everything.
func (b *Broker) superUser(principal string) bool {
	return slices.Contains(b.options.Security.SuperUsers, principal)
}

// authorize begins to ask authorizers, who get the cluster's rules as they change.
func (b *Broker) authorize() {
	o := &b.options
	chain := slices.Clone(o.Security.Authorizers)
	for _, name := range o.Security.Plugins {
		a, _ := b.plugins.host.Authorizer(name)
		chain = append(chain, Authorizer{Name: name, Authorizer: a, Has: a.Has, Bounded: true})
	}
	if len(chain) == 0 {
		return
	}
	b.authorizer = security.NewAuthorizer(security.AuthorizerOptions{Chain: chain, SuperUser: b.superUser,
		Clock: o.Clock, Log: b.log("security"), Metrics: o.Metrics})
	first, epoch := true, uint64(0)
	b.ruleWatch = o.Control.Watch(func(i *meta.Image) {
		if !first && i.ACLEpoch == epoch {
			return
		}
		first, epoch = false, i.ACLEpoch
		b.authorizer.SetRules(i.ACLEpoch, slices.Collect(i.ACLs()))
	})
}
