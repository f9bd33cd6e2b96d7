package consumergroup

import (
	"maps"
	"slices"
)

// Change is one change of a group: a record, and what it means. A group is what its
// changes made of it, live as after a restart.
type Change interface {
	// Key and Value are the record. A nil Value deletes.
	Key(group string) []byte
	Value() []byte
	apply(g *Group)
}

// Apply makes a change that is in the log.
func (g *Group) Apply(c Change) { c.apply(g) }

// The changes, one for each kind of record and one for its deletion.
type (
	setMember   struct{ m *Member } // metadata and subscription
	dropMember  struct{ id string }
	setCurrent  struct{ m *Member } // epoch and assignment
	dropCurrent struct{ id string }
	setTarget   struct {
		id     string
		target Assignment
	}
	dropTarget struct{ id string }
	setEpoch   struct {
		epoch int32
		hash  int64
	}
	dropEpoch      struct{} // the group itself
	setTargetEpoch struct {
		epoch int32
		ms    int64
	}
	dropTargetEpoch struct{}
	setRegex        struct {
		regex string
		r     Resolved
	}
	dropRegex  struct{ regex string }
	setTopics  struct{} // of versions before 4.1; only that it is there counts
	dropTopics struct{}
)

// IsGroupTombstone reports whether a change deletes its group.
func IsGroupTombstone(c Change) bool { _, ok := c.(dropEpoch); return ok }

// Creates reports whether a change makes its group, if there is none.
func Creates(c Change) bool {
	switch c.(type) {
	case dropMember, dropCurrent, dropTarget, dropEpoch, dropTargetEpoch, dropRegex, dropTopics:
		return false
	}
	return true
}

func (c setMember) apply(g *Group) {
	old := g.members[c.m.ID]
	if old == nil {
		old = newMember(c.m.ID)
	}
	m := *c.m
	m.Epoch, m.Previous, m.State, m.Assigned, m.Revoking = old.Epoch, old.Previous, old.State, old.Assigned, old.Revoking
	g.put(&m)
}

func (c dropMember) apply(g *Group) {
	old := g.members[c.id]
	if old == nil {
		return
	}
	g.count(old, -1)
	g.disown(old)
	delete(g.members, c.id)
	if old.Instance != "" && g.static[old.Instance] == c.id {
		delete(g.static, old.Instance)
	}
}

func (c setCurrent) apply(g *Group) {
	m := newMember(c.m.ID)
	if old := g.members[c.m.ID]; old != nil {
		*m = *old
	}
	m.Epoch, m.Previous, m.State, m.Assigned, m.Revoking = c.m.Epoch, c.m.Previous, c.m.State, c.m.Assigned, c.m.Revoking
	g.put(m)
}

func (c dropCurrent) apply(g *Group) {
	if old := g.members[c.id]; old != nil {
		m := *old
		m.Epoch, m.Previous, m.Assigned, m.Revoking = LeaveEpoch, LeaveEpoch, nil, nil
		g.put(&m)
	}
}

func (c setTarget) apply(g *Group)      { g.target[c.id] = c.target }
func (c dropTarget) apply(g *Group)     { delete(g.target, c.id) }
func (c setEpoch) apply(g *Group)       { g.epoch, g.hash = c.epoch, c.hash }
func (dropEpoch) apply(*Group)          {}
func (c setTargetEpoch) apply(g *Group) { g.targetEpoch, g.targetMS = c.epoch, c.ms }
func (dropTargetEpoch) apply(g *Group)  { g.targetEpoch, g.targetMS = noTarget, 0 }
func (setTopics) apply(g *Group)        { g.legacyTopics = true }
func (dropTopics) apply(g *Group)       { g.legacyTopics = false }

func (c setRegex) apply(g *Group) {
	dropRegex{c.regex}.apply(g)
	g.resolved[c.regex] = c.r
	countTopics(g.names, c.r.Topics, subscribers{regexes: 1})
}

func (c dropRegex) apply(g *Group) {
	if old, ok := g.resolved[c.regex]; ok {
		delete(g.resolved, c.regex)
		countTopics(g.names, old.Topics, subscribers{regexes: -1})
	}
}

// put puts a member in the place of the one with its id.
func (g *Group) put(m *Member) {
	if old := g.members[m.ID]; old != nil {
		g.count(old, -1)
		g.disown(old)
		if old.Instance != "" && g.static[old.Instance] == m.ID {
			delete(g.static, old.Instance)
		}
	}
	g.members[m.ID] = m
	g.count(m, 1)
	g.own(m)
	if m.Instance != "" {
		g.static[m.Instance] = m.ID
	}
}

// count counts what a member wants in or out.
func (g *Group) count(m *Member, n int) {
	countTopics(g.names, m.Topics, subscribers{names: n})
	if m.Regex != "" {
		add(g.regexes, m.Regex, n)
	}
	if m.Assignor != "" {
		add(g.assignors, m.Assignor, n)
	}
	if m.Classic != nil {
		g.classic += n
		for _, p := range m.Classic.Protocols {
			add(g.protocols, p.Name, n)
		}
	}
}

// add counts, and forgets what nobody is left of.
func add(counts map[string]int, name string, n int) {
	if counts[name] += n; counts[name] <= 0 {
		delete(counts, name)
	}
}

// countTopics counts subscribers of topics.
func countTopics(counts map[string]subscribers, topics []string, n subscribers) {
	for _, t := range topics {
		s := counts[t]
		s.names, s.regexes = s.names+n.names, s.regexes+n.regexes
		if s.names <= 0 && s.regexes <= 0 {
			delete(counts, t)
		} else {
			counts[t] = s
		}
	}
}

// own notes which partitions a member has.
func (g *Group) own(m *Member) {
	for _, list := range [...]Owned{m.Assigned, m.Revoking} {
		for topic, partitions := range list {
			have := g.owners[topic]
			if have == nil {
				have = make(map[int32]int32, len(partitions))
				g.owners[topic] = have
			}
			for p := range partitions {
				if e, ok := have[p]; !ok || e < m.Epoch {
					have[p] = m.Epoch
				}
			}
		}
	}
}

// disown takes back what own noted. A partition that a later owner has stays his.
func (g *Group) disown(m *Member) {
	for _, list := range [...]Owned{m.Assigned, m.Revoking} {
		for topic, partitions := range list {
			have := g.owners[topic]
			for p := range partitions {
				if e, ok := have[p]; ok && e == m.Epoch {
					delete(have, p)
				}
			}
			if len(have) == 0 {
				delete(g.owners, topic)
			}
		}
	}
}

// Tombstones delete all of the group. gone is a member in whose place another one
// has come within the same operation; empty: nobody.
func (g *Group) tombstones(gone, came string) (all []Change) {
	ids := slices.Sorted(maps.Keys(g.members))
	for i, id := range ids {
		if id == gone && gone != "" {
			ids[i] = came
		}
	}
	for _, id := range ids {
		all = append(all, dropCurrent{id})
	}
	for _, id := range ids {
		all = append(all, dropTarget{id})
	}
	all = append(all, dropTargetEpoch{})
	for _, id := range ids {
		all = append(all, dropMember{id})
	}
	for _, regex := range slices.Sorted(maps.Keys(g.resolved)) {
		all = append(all, dropRegex{regex})
	}
	return append(all, dropTopics{}, dropEpoch{})
}

// Tombstones delete all of the group.
func (g *Group) Tombstones() []Change { return g.tombstones("", "") }
