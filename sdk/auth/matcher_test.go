package auth

import (
	"fmt"
	"testing"
)

// allowRule is a rule for any host.
func allowRule(principal string, op Operation, pattern PatternType, name string) Rule {
	return Rule{Resource: Topic, Name: name, Pattern: pattern, Principal: principal, Host: Wildcard, Operation: op, Permission: PermissionAllow}
}

func denyRule(principal string, op Operation, pattern PatternType, name string) Rule {
	r := allowRule(principal, op, pattern, name)
	r.Permission = PermissionDeny
	return r
}

func TestDecide(t *testing.T) {
	alice := &Client{PrincipalType: "User", PrincipalName: "alice", Groups: []string{"payments", "staff"}, Host: "10.0.0.1"}
	robot := &Client{PrincipalType: "Robot", PrincipalName: "r2", Host: "::1"}
	onHost := func(r Rule, host string) Rule { r.Host = host; return r }
	cases := []struct {
		name   string
		rules  []Rule
		client *Client
		op     Operation
		want   Verdict
	}{
		{"no rule at all abstains", nil, alice, OpRead, Abstain},
		{"rules for other names abstain", []Rule{allowRule("User:alice", OpRead, Literal, "s")}, alice, OpRead, Abstain},
		{"a rule for somebody else closes the name", []Rule{allowRule("User:bob", OpRead, Literal, "tt")}, alice, OpRead, Deny},
		{"read implies describe", []Rule{allowRule("User:alice", OpRead, Literal, "tt")}, alice, OpDescribe, Allow},
		{"alter configs implies describe configs", []Rule{allowRule("User:alice", OpAlterConfigs, Prefixed, "t")}, alice, OpDescribeConfigs, Allow},
		{"describe configs does not imply describe", []Rule{allowRule("User:alice", OpDescribeConfigs, Literal, "tt")}, alice, OpDescribe, Deny},
		{"a denied read does not deny describe", []Rule{allowRule("User:alice", OpAll, Literal, "tt"), denyRule("User:alice", OpRead, Literal, "tt")}, alice, OpDescribe, Allow},
		{"deny by a prefix beats allow by the name", []Rule{allowRule("User:alice", OpAll, Literal, "tt"), denyRule("User:*", OpRead, Prefixed, "t")}, alice, OpRead, Deny},
		{"deny for a group beats allow for the user", []Rule{allowRule("User:alice", OpAll, Literal, "tt"), denyRule("Group:staff", OpRead, Literal, "tt")}, alice, OpRead, Deny},
		{"a group is allowed", []Rule{allowRule("Group:payments", OpWrite, Literal, "*")}, alice, OpWrite, Allow},
		{"nobody in no group", []Rule{allowRule("Group:*", OpWrite, Literal, "*")}, robot, OpWrite, Deny},
		{"somebody in any group", []Rule{allowRule("Group:*", OpWrite, Literal, "*")}, alice, OpWrite, Allow},
		{"User:* is everybody", []Rule{allowRule("User:*", OpWrite, Literal, "*")}, robot, OpWrite, Allow},
		{"Robot:* is every robot", []Rule{allowRule("Robot:*", OpWrite, Literal, "*")}, robot, OpWrite, Allow},
		{"Robot:* is no user", []Rule{allowRule("Robot:*", OpWrite, Literal, "*")}, alice, OpWrite, Deny},
		{"another host", []Rule{onHost(allowRule("User:alice", OpRead, Literal, "tt"), "10.0.0.2")}, alice, OpRead, Deny},
		{"an address as Kafka writes it", []Rule{onHost(allowRule("Robot:r2", OpRead, Literal, "tt"), "0:0:0:0:0:0:0:1")}, robot, OpRead, Allow},
		{"an address inside IPv6", []Rule{onHost(allowRule("User:alice", OpRead, Literal, "tt"), "::ffff:10.0.0.1")}, alice, OpRead, Allow},
		{"SEC-04 a prefix of a star is no wildcard", []Rule{allowRule("User:alice", OpRead, Prefixed, "*")}, alice, OpRead, Abstain},
		{"an unknown operation", []Rule{allowRule("User:*", OpAll, Literal, "*")}, alice, 99, Deny},
		{"a filter's operation", []Rule{allowRule("User:*", OpAll, Literal, "*")}, alice, OpAny, Deny},
		{"an allow with a fault allows nothing", []Rule{allowRule("alice", OpAll, Literal, "tt"), allowRule("User:alice", 77, Literal, "tt")}, alice, OpRead, Abstain},
		{"a deny with a fault denies more", []Rule{allowRule("User:alice", OpAll, Literal, "tt"), denyRule("User:alice", 77, Literal, "tt")}, alice, OpRead, Deny},
		{"a deny for nobody denies everybody", []Rule{allowRule("User:alice", OpAll, Literal, "tt"), denyRule("", OpRead, Literal, "tt")}, alice, OpRead, Deny},
		{"a deny for no name denies all", []Rule{allowRule("User:alice", OpAll, Literal, "tt"), denyRule("User:alice", OpRead, 9, "x")}, alice, OpRead, Deny},
	}
	for _, c := range cases {
		if got := NewMatcher(c.rules).Decide(c.client, c.op, Topic, "tt"); got != c.want {
			t.Errorf("%s: verdict %d, want %d", c.name, got, c.want)
		}
	}
}

func TestDecideOtherTypes(t *testing.T) {
	m := NewMatcher([]Rule{allowRule("User:*", OpAll, Literal, "*")})
	c := &Client{PrincipalType: "User", PrincipalName: "alice"}
	if got := m.Decide(c, OpRead, Group, "g"); got != Abstain {
		t.Errorf("a group with rules for topics: %d, want Abstain", got)
	}
	for _, unknown := range []ResourceType{0, AnyResource, 8, -1} {
		if got := m.Decide(c, OpRead, unknown, "x"); got != Deny {
			t.Errorf("type %d: %d, want Deny", unknown, got)
		}
		if got := m.DecideByResourceType(c, OpRead, unknown); got != Deny {
			t.Errorf("any of type %d: %d, want Deny", unknown, got)
		}
	}
}

func TestDecideByResourceTypeKnowsGroups(t *testing.T) {
	c := &Client{PrincipalType: "User", PrincipalName: "alice", Groups: []string{"g"}}
	rules := []Rule{allowRule("Group:g", OpWrite, Prefixed, "ab")}
	if got := NewMatcher(rules).DecideByResourceType(c, OpWrite, Topic); got != Allow {
		t.Errorf("allowed for a group: %d", got)
	}
	rules = append(rules, denyRule("User:alice", OpWrite, Prefixed, "a"))
	if got := NewMatcher(rules).DecideByResourceType(c, OpWrite, Topic); got != Abstain {
		t.Errorf("denied for a shorter prefix: %d, want Abstain", got)
	}
}

func TestCheckNamesTheField(t *testing.T) {
	good := allowRule("User:a:b", OpAll, Literal, "*")
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for field, spoil := range map[string]func(*Rule){
		"resource":   func(r *Rule) { r.Resource = AnyResource },
		"name":       func(r *Rule) { r.Name = "" },
		"pattern":    func(r *Rule) { r.Pattern = 1 },
		"principal":  func(r *Rule) { r.Principal = ":x" },
		"host":       func(r *Rule) { r.Host = "" },
		"operation":  func(r *Rule) { r.Operation = OpAny },
		"permission": func(r *Rule) { r.Permission = 0 },
	} {
		bad := good
		spoil(&bad)
		if bad.Check() == nil {
			t.Errorf("a rule with a bad %s passes", field)
		}
		bad.Permission = PermissionDeny
		if bad.Resource == Topic && bad.widened().Check() != nil {
			t.Errorf("the wider form of a rule with a bad %s is bad", field)
		}
	}
}

// manyRules are n rules as a large cluster has them: teams with prefixes, services
// with names, a few for everybody.
func manyRules(n int) []Rule {
	rules := []Rule{denyRule("User:*", OpDelete, Literal, "*"), allowRule("Group:admins", OpAll, Literal, "*")}
	for i := 0; len(rules) < n; i++ {
		team, service := fmt.Sprintf("team-%d.", i%997), fmt.Sprintf("User:service-%d", i)
		rules = append(rules,
			allowRule(service, OpRead, Prefixed, team),
			allowRule(service, OpWrite, Literal, fmt.Sprintf("%sevents-%d", team, i)))
	}
	return rules
}

func TestDecisionsAllocateNothing(t *testing.T) {
	m := NewMatcher(manyRules(10_000))
	c := &Client{PrincipalType: "User", PrincipalName: "service-17", Groups: []string{"a", "b", "c"}, Host: "10.0.0.1"}
	for name, decide := range map[string]func() Verdict{
		"by prefix": func() Verdict { return m.Decide(c, OpRead, Topic, "team-17.other") },
		"by name":   func() Verdict { return m.Decide(c, OpWrite, Topic, "team-17.events-17") },
		"any":       func() Verdict { return m.DecideByResourceType(c, OpWrite, Topic) },
	} {
		if got := decide(); got != Allow {
			t.Fatalf("%s: verdict %d, want Allow", name, got)
		}
		if n := testing.AllocsPerRun(100, func() { decide() }); n != 0 {
			t.Errorf("%s: %v allocations a decision, want 0", name, n)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	c := &Client{PrincipalType: "User", PrincipalName: "service-17", Groups: []string{"a", "b", "c"}, Host: "10.0.0.1"}
	for _, n := range []int{10, 10_000} {
		m := NewMatcher(manyRules(n))
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Decide(c, OpWrite, Topic, "team-17.events-17")
			}
		})
		b.Run(fmt.Sprintf("type/rules=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.DecideByResourceType(c, OpWrite, Topic)
			}
		})
	}
	b.Run("make/rules=10000", func(b *testing.B) {
		rules := manyRules(10_000)
		for b.Loop() {
			NewMatcher(rules)
		}
	})
}
