package auth

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestMatcherDecidesAsItsTwin compares with a reading of each rule in turn, which
// knows groups and Type:*, as Kafka does not.
func TestMatcherDecidesAsItsTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	name := func() string { return pick("a", "ab", "abc", "b", "ba", "abcd", "hardcode") }
	seen := map[Verdict]int{}
	for range 3000 {
		var rules []Rule
		for range r.IntN(12) {
			rule := Rule{
				Resource: Topic, Name: pick(name(), name(), "*"), Pattern: Literal + PatternType(r.IntN(2)), Host: pick("*", "h"),
				Principal: pick("User:u", "User:*", "Robot:*", "Robot:r", "Group:g", "Group:h", "Group:*"),
				Operation: []Operation{OpAll, OpRead, OpDescribe, OpAlter}[r.IntN(4)], Permission: PermissionDeny + Permission(min(1, r.IntN(3))),
			}
			rules = append(rules, rule)
		}
		m := NewMatcher(rules)
		for range 10 {
			c := &Client{PrincipalType: pick("User", "Robot"), PrincipalName: pick("u", "r"), Host: pick("h", "i")}
			c.Groups = [][]string{nil, {"g"}, {"g", "h"}, {"x"}}[r.IntN(4)]
			op, on := []Operation{OpRead, OpDescribe}[r.IntN(2)], name()
			got, want := m.Decide(c, op, Topic, on), twinDecide(rules, c, op, on)
			if got != want {
				t.Fatalf("%+v may %d on %s: %d, want %d, with %+v", c, op, on, got, want, rules)
			}
			seen[got]++
		}
	}
	for _, v := range []Verdict{Deny, Allow, Abstain} {
		if seen[v] < 1000 {
			t.Errorf("verdict %d came %d times: the test is weak", v, seen[v])
		}
	}
}

func twinDecide(rules []Rule, c *Client, op Operation, name string) Verdict {
	covered, allowed := false, false
	for _, r := range rules {
		literal := r.Pattern == Literal && (r.Name == name || r.Name == Wildcard)
		if !literal && !(r.Pattern == Prefixed && strings.HasPrefix(name, r.Name)) {
			continue
		}
		covered = true
		if !twinNames(r.Principal, c) || r.Host != Wildcard && r.Host != c.Host {
			continue
		}
		same := r.Operation == OpAll || r.Operation == op
		if r.Permission == PermissionDeny && same {
			return Deny
		}
		if r.Permission == PermissionAllow && (same || op == OpDescribe && (r.Operation == OpAlter || r.Operation == OpRead)) {
			allowed = true
		}
	}
	switch {
	case allowed:
		return Allow
	case covered:
		return Deny
	}
	return Abstain
}

func twinNames(principal string, c *Client) bool {
	kind, name, _ := strings.Cut(principal, ":")
	switch {
	case principal == "User:*", principal == "Group:*" && len(c.Groups) > 0:
		return true
	case kind == "Group" && slices.Contains(c.Groups, name):
		return true
	}
	return kind == c.PrincipalType && (name == Wildcard || name == c.PrincipalName)
}
