package auth

import (
	"cmp"
	"slices"
	"strings"
)

// operations is a set of Operation, one bit each.
type operations uint32

// everyOperation has the bit of each that a client can do.
const everyOperation = operations(1<<(OpTwoPhaseCommit+1) - 1<<OpAll)

func (s operations) has(op Operation) bool { return s>>op&1 != 0 }

// setOf is what a rule for op is about, without what it implies.
func setOf(op Operation) operations {
	if op == OpAll {
		return everyOperation
	}
	return 1 << op
}

// implied is what an allow for op allows besides.
func implied(op Operation) operations {
	switch op {
	case OpRead, OpWrite, OpDelete, OpAlter:
		return 1 << OpDescribe
	case OpAlterConfigs:
		return 1 << OpDescribeConfigs
	}
	return 0
}

// grants are the rules for one name, sorted by subject and host.
type grants []grant

// grant is what the rules for one name say about a subject on a host.
type grant struct {
	grantKey
	masks
}

// masks are operations that rules speak of.
type masks struct {
	allow, deny operations
	exact       operations // allowed by name, without what that implies
}

type grantKey struct {
	subject int32
	host    string
}

func (k grantKey) compare(b grantKey) int {
	if k.subject != b.subject {
		return cmp.Compare(k.subject, b.subject)
	}
	return strings.Compare(k.host, b.host)
}

// sum is what rules say about a client with these subjects on a host.
func (gs grants) sum(who []int32, host string) (all masks) {
	for _, s := range who {
		all.add(gs.find(grantKey{s, Wildcard}))
		all.add(gs.find(grantKey{s, host}))
	}
	return all
}

func (m *masks) add(more masks) {
	m.allow |= more.allow
	m.deny |= more.deny
	m.exact |= more.exact
}

// find returns no masks if no rule is for the key.
func (gs grants) find(k grantKey) masks {
	at, found := slices.BinarySearchFunc(gs, k, func(g grant, k grantKey) int { return g.compare(k) })
	if !found {
		return masks{}
	}
	return gs[at].masks
}

// addGrant adds what a rule says about its subject.
func addGrant(to map[grantKey]*grant, subject int32, r Rule) {
	k := grantKey{subject, canonicalHost(r.Host)}
	g := to[k]
	if g == nil {
		g = &grant{grantKey: k}
		to[k] = g
	}
	if r.Permission == PermissionAllow {
		g.exact |= setOf(r.Operation)
		g.allow |= setOf(r.Operation) | implied(r.Operation)
		return
	}
	g.deny |= setOf(r.Operation)
}

func sortedGrants(from map[grantKey]*grant) grants {
	gs := make(grants, 0, len(from))
	for _, g := range from {
		gs = append(gs, *g)
	}
	slices.SortFunc(gs, func(a, b grant) int { return a.compare(b.grantKey) })
	return gs
}
