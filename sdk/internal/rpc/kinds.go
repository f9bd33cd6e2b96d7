package rpc

import (
	"fmt"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// contract is the asking side of an instance of the plugin's kind.
func (c *Client) contract(id string, d plugin.Description) (any, error) {
	switch d.Kind {
	case plugin.Partitioner:
		return newPartitioner(c, id), nil
	case plugin.Authenticator:
		return newAuthenticator(c, id, d), nil
	case plugin.Authorizer:
		return newAuthorizer(c, id, d), nil
	case plugin.Retention:
		return newRetention(c, id, d), nil
	}
	return nil, badAnswer("kind %s", d.Kind)
}

// fits says whether what a plugin made keeps the contract of its kind: an author's
// mistake that the typed makers of the kinds' packages exclude.
func fits(p plugin.Plugin, made any) error {
	ok := false
	switch p.Kind {
	case plugin.Partitioner:
		_, ok = made.(partitioner.Partitioner)
	case plugin.Authenticator:
		_, ok = made.(auth.Authenticator)
	case plugin.Authorizer:
		_, ok = made.(auth.Authorizer)
		if _, takes := made.(auth.RuleTaker); p.Describe().Has(auth.FeatureStore) && !takes {
			ok = false
		}
	case plugin.Retention:
		_, ok = made.(storage.Retention)
	}
	if !ok {
		return fmt.Errorf("%s %s made a %T, which is not what its kind and features ask for: %w", p.Kind, p.Name, made, plugin.ErrFailed)
	}
	return nil
}
