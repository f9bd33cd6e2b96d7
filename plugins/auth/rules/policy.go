package rules

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mortisemq/mortise/sdk/auth"
)

// maxRemembered bounds how many rules the matchers for clients hold together.
const maxRemembered = 50_000

// policy is what one content of the file means. Only what it remembers of clients
// changes.
type policy struct {
	same      []auth.Rule // without ${principal}
	templates []auth.Rule
	matcher   *auth.Matcher // of same

	mu      sync.Mutex
	clients map[string]*auth.Matcher // by principal's name: same, and templates with it; guarded by mu
}

func newPolicy(from []fileRule) (*policy, error) {
	p := &policy{clients: map[string]*auth.Matcher{}}
	for i, f := range from {
		rules, err := f.expand()
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		for _, r := range rules {
			if strings.Contains(r.Name, principalVariable) {
				p.templates = append(p.templates, r)
			} else {
				p.same = append(p.same, r)
			}
		}
		if len(p.same)+len(p.templates) > maxRules {
			return nil, fmt.Errorf("rule %d: more than %d rules in all", i+1, maxRules)
		}
	}
	p.matcher = auth.NewMatcher(p.same)
	return p, nil
}

// of is the matcher for a client.
//
// Without templates it is the same for all. With them one is made for each principal's
// name, and remembered: 0 allocs then.
func (p *policy) of(c *auth.Client) *auth.Matcher {
	if len(p.templates) == 0 {
		return p.matcher
	}
	p.mu.Lock()
	m := p.clients[c.PrincipalName]
	p.mu.Unlock()
	if m != nil {
		return m
	}
	rules := slices.Clone(p.same)
	for _, r := range p.templates {
		if r, ok := instantiate(r, c.PrincipalName); ok {
			rules = append(rules, r)
		}
	}
	m = auth.NewMatcher(rules)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.clients) >= max(1, maxRemembered/(len(p.same)+len(p.templates))) {
		clear(p.clients)
	}
	p.clients[c.PrincipalName] = m
	return m
}

// instantiate is a template's rule for a principal; false: there is none.
func instantiate(r auth.Rule, principal string) (auth.Rule, bool) {
	before, after, _ := strings.Cut(r.Name, principalVariable)
	if principal == "" {
		return r, false
	}
	reaches := r.Pattern == auth.Prefixed && strings.Contains(principal, after)
	name := before + principal + after
	if r.Permission == auth.PermissionAllow && (reaches || name == auth.Wildcard) {
		return r, false
	}
	r.Name = name
	return r, true
}
