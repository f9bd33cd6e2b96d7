package auth

import (
	"fmt"
	"net/netip"
	"strings"
)

// Types of principals in rules.
const (
	UserType  = "User"  // User:* is every client, whatever its type
	GroupType = "Group" // one of Client.Groups
)

// subject is whom a rule names.
type subject struct{ kind, name string }

// subjectOf reads a principal, whose type ends at the first colon.
func subjectOf(principal string) subject {
	kind, name, _ := strings.Cut(principal, ":")
	return subject{kind, name}
}

// Check says what is wrong with a rule: it names the field and its value. A Matcher
// lets no such rule allow anything.
func (r Rule) Check() error {
	s := subjectOf(r.Principal)
	switch {
	case !r.Resource.Known():
		return fmt.Errorf("rule for resource type %d, which is not one of a resource", r.Resource)
	case r.Name == "":
		return fmt.Errorf("rule with an empty resource name")
	case r.Pattern != Literal && r.Pattern != Prefixed:
		return fmt.Errorf("rule for %q with pattern type %d, which is neither literal (3) nor prefixed (4)", r.Name, r.Pattern)
	case s.kind == "" || s.name == "":
		return fmt.Errorf("rule for %q with principal %q, which is not Type:name", r.Name, r.Principal)
	case r.Host == "":
		return fmt.Errorf("rule for %q with an empty host", r.Name)
	case r.Operation != OpAll && !r.Operation.Known():
		return fmt.Errorf("rule for %q with operation %d, which is not one of a rule", r.Name, r.Operation)
	case r.Permission != PermissionAllow && r.Permission != PermissionDeny:
		return fmt.Errorf("rule for %q with permission %d, which is neither deny (2) nor allow (3)", r.Name, r.Permission)
	}
	return nil
}

// widened is a deny with wildcards where Check refuses the rule: what can't be read
// must not be let through.
func (r Rule) widened() Rule {
	if r.Name == "" || r.Pattern != Literal && r.Pattern != Prefixed {
		r.Name, r.Pattern = Wildcard, Literal
	}
	if s := subjectOf(r.Principal); s.kind == "" || s.name == "" {
		r.Principal = UserType + ":" + Wildcard
	}
	if r.Host == "" {
		r.Host = Wildcard
	}
	if !r.Operation.Known() {
		r.Operation = OpAll
	}
	r.Permission = PermissionDeny
	return r
}

// canonicalHost writes an IP address as Client.Host has it.
func canonicalHost(host string) string {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	return host
}

// Known says whether a client can do the operation: neither a filter's nor All.
func (op Operation) Known() bool { return op >= OpRead && op <= OpTwoPhaseCommit }

// Known says whether there are resources of the type.
func (t ResourceType) Known() bool { return t >= Topic && t <= User }
