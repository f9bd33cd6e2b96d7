package consumergroup

import (
	"maps"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// Leaving finds the member that wants to leave.
func (g *Group) Leaving(id, instance string) (*Member, *kafka.Error) {
	if instance == "" {
		if m := g.members[id]; m != nil {
			return m, nil
		}
		return nil, g.unknownMember(id)
	}
	m := g.staticMember(instance)
	switch {
	case m == nil:
		return nil, unknownInstance(instance)
	case m.ID != id:
		return nil, fencedInstance(m, id, instance)
	}
	return m, nil
}

// LeavingClassic finds a member that LeaveGroup names. An administrator names a
// static member by its instance id alone.
func (g *Group) LeavingClassic(id, instance string) (*Member, *kafka.Error) {
	if m := g.staticMember(instance); m != nil && id == "" {
		return m, nil
	}
	return g.Leaving(id, instance)
}

// Pause lets a static member leave for a while: it keeps its place until its session
// ends, and whoever comes with its instance id gets it.
func (g *Group) Pause(m *Member) []Change {
	next := *m
	next.Epoch, next.Revoking = LeaveStaticEpoch, nil
	next.Assigned = make(Owned, len(m.Assigned))
	for topic, partitions := range m.Assigned {
		for p := range partitions {
			next.Assigned.set(topic, p, 0)
		}
	}
	return []Change{setCurrent{&next}}
}

// Remove takes members out: they left, or were not heard of.
func (g *Group) Remove(env *Env, gone []*Member) []Change {
	p := g.plan(env)
	for _, m := range gone {
		p.add(dropCurrent{m.ID}, dropTarget{m.ID}, dropMember{m.ID})
	}
	regexes := g.onlyOf(gone)
	for _, regex := range regexes {
		p.add(dropRegex{regex})
	}
	p.epoch++
	p.add(setEpoch{p.epoch, hashTopics(g.namesWithout(gone, regexes), env.Image)})
	if len(gone) == len(g.members) {
		p.add(setTargetEpoch{p.epoch, 0})
	}
	return p.changes
}

// onlyOf are the expressions that nobody but some members subscribes to.
func (g *Group) onlyOf(gone []*Member) (regexes []string) {
	counts := map[string]int{}
	for _, m := range gone {
		if m.Regex != "" {
			counts[m.Regex]++
		}
	}
	for _, regex := range slices.Sorted(maps.Keys(counts)) {
		if counts[regex] == g.regexes[regex] {
			regexes = append(regexes, regex)
		}
	}
	return regexes
}
