package meta

import (
	"slices"
	"testing"

	"github.com/mortisemq/mortise/sdk/auth"
)

func TestACLFiltersChooseAsKafkas(t *testing.T) {
	literal := auth.Rule{Resource: auth.Topic, Name: "orders", Pattern: auth.Literal, Principal: "User:a", Host: "*", Operation: auth.OpRead, Permission: auth.PermissionAllow}
	prefixed := literal
	prefixed.Name, prefixed.Pattern = "ord", auth.Prefixed
	every := literal
	every.Name = "*"
	other := literal
	other.Name = "other"
	all := []auth.Rule{literal, prefixed, every, other}
	name, none := "orders", "User:b"
	any := ACLFilter{Resource: auth.AnyResource, Pattern: AnyPattern, Operation: auth.OpAny, Permission: AnyPermission}
	with := func(change func(*ACLFilter)) ACLFilter { f := any; change(&f); return f }
	for _, c := range []struct {
		says   string
		filter ACLFilter
		want   []auth.Rule
	}{
		{"any", any, all},
		{"a literal name", with(func(f *ACLFilter) { f.Pattern, f.Name = auth.Literal, &name }), []auth.Rule{literal}},
		{"a name of any pattern is compared as it stands", with(func(f *ACLFilter) { f.Name = &name }), []auth.Rule{literal}},
		{"what concerns a name", with(func(f *ACLFilter) { f.Pattern, f.Name = MatchPattern, &name }), []auth.Rule{literal, prefixed, every}},
		{"prefixes", with(func(f *ACLFilter) { f.Pattern = auth.Prefixed }), []auth.Rule{prefixed}},
		{"another principal", with(func(f *ACLFilter) { f.Principal = &none }), nil},
		{"another operation", with(func(f *ACLFilter) { f.Operation = auth.OpWrite }), nil},
		{"another resource", with(func(f *ACLFilter) { f.Resource = auth.Group }), nil},
		{"denials", with(func(f *ACLFilter) { f.Permission = auth.PermissionDeny }), nil},
	} {
		var got []auth.Rule
		for _, r := range all {
			if c.filter.Matches(&r) {
				got = append(got, r)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: chooses %v, want %v", c.says, got, c.want)
		}
	}
}

func TestACLEpochRisesWithChangesOnly(t *testing.T) {
	r := auth.Rule{Resource: auth.Topic, Name: "a", Pattern: auth.Literal, Principal: "User:a", Host: "*", Operation: auth.OpRead, Permission: auth.PermissionAllow}
	i := Empty("c")
	steps := []struct {
		do    func(*Edit)
		epoch uint64
		count int
	}{
		{func(e *Edit) { e.PutACL(r) }, 1, 1},
		{func(e *Edit) { e.PutACL(r) }, 1, 1},
		{func(e *Edit) { e.SetFeature("x", 1) }, 1, 1},
		{func(e *Edit) { e.RemoveACL(&r) }, 4, 0},
		{func(e *Edit) { e.RemoveACL(&r) }, 4, 0},
	}
	for n, s := range steps {
		e := i.Edit(uint64(n + 1))
		s.do(e)
		i = e.Image()
		if i.ACLEpoch != s.epoch || i.ACLCount() != s.count || i.HasACL(&r) != (s.count == 1) {
			t.Fatalf("step %d: epoch %d with %d rules, want %d with %d", n, i.ACLEpoch, i.ACLCount(), s.epoch, s.count)
		}
	}
}

// Rules that differ in any field are two rules, whatever the bytes of their names.
func TestRuleKeysAreInjective(t *testing.T) {
	a := auth.Rule{Resource: auth.Topic, Name: "ab", Pattern: auth.Literal, Principal: "User:c", Host: "*", Operation: auth.OpRead, Permission: auth.PermissionAllow}
	b := a
	b.Name, b.Principal = "a", "bUser:c"
	if string(ruleKey(&a)) == string(ruleKey(&b)) {
		t.Fatal("two rules have one key")
	}
}
