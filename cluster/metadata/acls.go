package metadata

import (
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/auth"
)

func (m *machine) createACLs(c *CreateACLs) {
	for _, a := range c.Rules {
		if r := auth.Rule(a); !m.old.HasACL(&r) {
			m.edit().PutACL(r)
		}
	}
}

func (m *machine) deleteACLs(c *DeleteACLs) []meta.ACLDeletion {
	gone := make([]meta.ACLDeletion, len(c.Filters))
	for n, f := range c.Filters {
		filter := meta.ACLFilter(f)
		gone[n].Rules = m.old.MatchingACLs(&filter)
		for i := range gone[n].Rules {
			m.edit().RemoveACL(&gone[n].Rules[i])
		}
	}
	return gone
}
