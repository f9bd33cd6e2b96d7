package auth

import (
	"slices"
	"strings"
)

// resources are the rules for one type of resource, by whose names they name.
type resources struct {
	all      grants            // of the literal *
	literals map[string]grants // never *
	prefixes []prefix          // sorted by name
	reach    []reach           // sorted by subject
	hasAll   bool
}

// prefix is one prefixed name. All prefixes of a string that are among the sorted
// ones are on the way from the greatest that is not greater than the string, over
// parents.
type prefix struct {
	name   string
	parent int32 // the longest other prefix of this one, -1: none
	grants grants
}

// reach says that a rule allows a subject something on a name.
type reach struct {
	subject int32
	literal string // if prefix is -1
	prefix  int32
}

// decide is Matcher.Decide for one type.
func (r *resources) decide(who []int32, host string, op Operation, name string) Verdict {
	covered, all := r.hasAll, r.all.sum(who, host)
	if g, ok := r.literals[name]; ok {
		covered = true
		all.add(g.sum(who, host))
	}
	for at := r.longest(name); at >= 0; at = r.prefixes[at].parent {
		covered = true
		all.add(r.prefixes[at].grants.sum(who, host))
	}
	switch {
	case all.deny.has(op):
		return Deny
	case all.allow.has(op):
		return Allow
	case covered:
		return Deny
	}
	return Abstain
}

// longest is the index of the longest prefix of a name, -1 if there is none.
func (r *resources) longest(name string) int32 {
	at, found := slices.BinarySearchFunc(r.prefixes, name, func(p prefix, name string) int {
		return strings.Compare(p.name, name)
	})
	if found {
		return int32(at)
	}
	for i := int32(at) - 1; i >= 0; i = r.prefixes[i].parent {
		if strings.HasPrefix(name, r.prefixes[i].name) {
			return i
		}
	}
	return -1
}

// decideByType says whether rules allow op on a name that they name.
func (r *resources) decideByType(who []int32, host string, op Operation) bool {
	switch all := r.all.sum(who, host); {
	case all.deny.has(op):
		return false
	case all.exact.has(op):
		return true
	}
	for _, s := range who {
		at, _ := slices.BinarySearchFunc(r.reach, s, func(x reach, s int32) int { return int(x.subject) - int(s) })
		for ; at < len(r.reach) && r.reach[at].subject == s; at++ {
			if r.reaches(r.reach[at], who, host, op) {
				return true
			}
		}
	}
	return false
}

// reaches says whether the client is allowed op where x says, and no deny for the
// same literal or for a prefix dominates that.
func (r *resources) reaches(x reach, who []int32, host string, op Operation) bool {
	from := x.prefix
	if from < 0 {
		here := r.literals[x.literal].sum(who, host)
		if !here.exact.has(op) || here.deny.has(op) {
			return false
		}
		from = r.longest(x.literal)
	} else if !r.prefixes[from].grants.sum(who, host).exact.has(op) {
		return false
	}
	for ; from >= 0; from = r.prefixes[from].parent {
		if r.prefixes[from].grants.sum(who, host).deny.has(op) {
			return false
		}
	}
	return true
}

// draft collects rules for one type of resource.
type draft struct {
	all      map[grantKey]*grant
	literals map[string]map[grantKey]*grant
	prefixes map[string]map[grantKey]*grant
}

func newDraft() *draft {
	return &draft{
		literals: map[string]map[grantKey]*grant{},
		prefixes: map[string]map[grantKey]*grant{},
	}
}

func (d *draft) add(r Rule, subject int32) {
	named := d.literals
	switch {
	case r.Pattern == Prefixed:
		named = d.prefixes
	case r.Name == Wildcard:
		if d.all == nil {
			d.all = map[grantKey]*grant{}
		}
		addGrant(d.all, subject, r)
		return
	}
	if named[r.Name] == nil {
		named[r.Name] = map[grantKey]*grant{}
	}
	addGrant(named[r.Name], subject, r)
}

// finish makes what decisions are made with.
func (d *draft) finish() *resources {
	r := &resources{all: sortedGrants(d.all), hasAll: d.all != nil, literals: make(map[string]grants, len(d.literals))}
	for name, g := range d.literals {
		r.literals[name] = sortedGrants(g)
		r.addReach(r.literals[name], reach{literal: name, prefix: -1})
	}
	for name, g := range d.prefixes {
		r.prefixes = append(r.prefixes, prefix{name: name, grants: sortedGrants(g)})
	}
	slices.SortFunc(r.prefixes, func(a, b prefix) int { return strings.Compare(a.name, b.name) })
	for i := range r.prefixes {
		r.prefixes[i].parent = int32(i) - 1
		for p := &r.prefixes[i].parent; *p >= 0 && !strings.HasPrefix(r.prefixes[i].name, r.prefixes[*p].name); {
			*p = r.prefixes[*p].parent
		}
		r.addReach(r.prefixes[i].grants, reach{prefix: int32(i)})
	}
	slices.SortFunc(r.reach, func(a, b reach) int { return int(a.subject) - int(b.subject) })
	return r
}

// addReach adds x for each subject that is allowed something.
func (r *resources) addReach(gs grants, x reach) {
	last := int32(-1)
	for _, g := range gs {
		if g.exact != 0 && g.subject != last {
			last, x.subject = g.subject, g.subject
			r.reach = append(r.reach, x)
		}
	}
}
