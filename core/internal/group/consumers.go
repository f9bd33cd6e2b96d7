package group

import (
	"maps"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// watch are the deadlines of a member of a group of the consumer protocol.
type watch struct {
	session   timer
	rebalance timer // to give partitions up
	rejoin    timer // of a classic member: to join again
	sync      timer // of a classic member: to ask for its assignment
	epoch     int32 // that the rebalance timeout is for
}

// newWatch makes the deadlines of a member, none of them set.
func newWatch(g *Group, member string) *watch {
	of := func(kind timerKind) timer { return timer{kind: kind, group: g, member: member} }
	return &watch{session: of(sessionTimer), rebalance: of(rebalanceTimer), rejoin: of(rejoinTimer), sync: of(memberSyncTimer)}
}

// watch are the deadlines of a member, made when they are not there.
func (g *Group) watch(member string) *watch {
	w := g.watches[member]
	if w == nil {
		w = newWatch(g, member)
		g.watches[member] = w
	}
	return w
}

// unwatch cancels the deadlines of a member.
func (s *State) unwatch(g *Group, member string) {
	if w := g.watches[member]; w != nil {
		for _, t := range [...]*timer{&w.session, &w.rebalance, &w.rejoin, &w.sync} {
			s.timers.cancel(t)
		}
		delete(g.watches, member)
	}
}

// unwatchGone cancels the deadlines of members that are gone.
func (s *State) unwatchGone(g *Group) {
	if len(g.watches) <= g.consumers.Len() {
		return
	}
	for id := range g.watches {
		if g.consumers.Member(id) == nil {
			s.unwatch(g, id)
		}
	}
}

// env is what an operation on a group may look at. It is good until the next call.
func (s *State) env(group string, now int64) *consumergroup.Env {
	s.rules = s.rulesOf(group)
	s.scratch = consumergroup.Env{NowMS: now, Image: s.image, NewTopics: s.newTopics, Rules: &s.rules, NewID: s.ids.Member}
	return &s.scratch
}

// SetImage tells the State what topics there are. added says whether there are some
// that were not there before; it is asked only if somebody wants to know. Cost: a map
// access for each group and topic that changed.
func (s *State) SetImage(img *meta.Image, added func() bool) {
	changed, all := s.changedTopics(img)
	s.image = img
	if all && len(changed) == 0 && s.newTopics != 0 {
		return
	}
	regexes := false
	for _, g := range s.groups {
		if g.consumers == nil {
			continue
		}
		regexes = regexes || g.consumers.HasRegexes()
		if g.consumers.SubscribesToAny(changed) {
			g.consumers.TopicsChanged()
		}
	}
	if s.newTopics == 0 || regexes && added() {
		s.newTopics = img.Index
	}
}

// changedTopics are the topics that are not what they were in the image before: all, or,
// if the new image does not know what changed since, those that somebody subscribes to.
func (s *State) changedTopics(img *meta.Image) (changed map[string]bool, all bool) {
	changed = map[string]bool{}
	look := func(name string) bool {
		was, _ := s.image.Topic(name)
		is, _ := img.Topic(name)
		changed[name] = was != is
		return true
	}
	names, all := img.NamesChangedSince(s.image)
	for _, name := range names {
		look(name)
	}
	if !all {
		for _, g := range s.groups {
			if g.consumers != nil {
				g.consumers.Topics(func(name string) bool {
					_, looked := changed[name]
					return looked || look(name)
				})
			}
		}
	}
	maps.DeleteFunc(changed, func(_ string, is bool) bool { return !is })
	return changed, all
}

// write has changes of a consumer group written.
func (o *Output) write(group string, changes []consumergroup.Change) {
	for _, c := range changes {
		o.Records = append(o.Records, Record{Key: c.Key(group), Value: c.Value()})
	}
}

// take is a group of the consumer protocol that an operation works on. It may not be
// one yet.
type take struct {
	id   string
	c    *consumergroup.Group
	from *Group   // what there is under the id; nil: nothing
	log  []Record // what makes it what it is to be
}

// takeConsumers finds the group of a heartbeat. A member that joins makes it if need
// be, from nothing or from a group of the classic protocol.
func (s *State) takeConsumers(id string, joins bool) (*take, *kafka.Error) {
	g := s.groups[id]
	t := &take{id: id, from: g}
	switch {
	case g == nil && !joins:
		return nil, kafka.ErrGroupIDNotFound.Err("Consumer group " + id + " not found.")
	case g == nil:
		t.c = consumergroup.New(id)
	case g.consumers != nil:
		t.c = g.consumers
	case !joins:
		return nil, notConsumers(id)
	case g.phase == Empty:
		t.c, t.log = consumergroup.New(id), []Record{groupTombstone(id)}
	default:
		return t, s.upgrade(t)
	}
	return t, nil
}

// notConsumers is the refusal of what is not a group of the consumer protocol.
func notConsumers(id string) *kafka.Error {
	return kafka.ErrGroupIDNotFound.Err("Group " + id + " is not a consumer group.")
}

// installed makes the group that an operation worked on the one that there is.
// Whoever waits in a group of the classic protocol has to join again.
func (s *State) installed(t *take, now int64, out *Output) *Group {
	if t.from != nil && t.from.consumers == t.c {
		return t.from
	}
	g := newGroup(t.id, now)
	g.consumers, g.watches = t.c, map[string]*watch{}
	if t.from != nil {
		s.retire(t.from, g, out)
	}
	s.groups[t.id] = g
	s.watchUpgraded(g, now)
	return g
}

// retire ends a group of the classic protocol in whose place another one comes, which
// gets its offsets.
func (s *State) retire(old, next *Group, out *Output) {
	for _, m := range old.order {
		s.answerJoin(old, m, joinRefusal(m.id, kafka.ErrRebalanceInProgress), out)
		s.answerSync(m, syncRefusal(kafka.ErrRebalanceInProgress), out)
	}
	next.offsets, old.offsets = old.offsets, nil
	s.cancelAll(old)
	old.turn(Dead, old.since)
}

// consumers finds a group of the consumer protocol; nil: it is none.
func (s *State) consumers(id string) *consumergroup.Group {
	if g := s.groups[id]; g != nil {
		return g.consumers
	}
	return nil
}

// Lookup is a question that an operation leaves: which topics expressions stand for.
// The answer goes to State.Resolved.
type Lookup struct {
	Group   string
	Regexes []string
	May     consumergroup.Permission // nil: all topics count
}

// Find answers the question. It takes long, and needs nothing of the State; it gives up
// once ended says so. Without an answer (false) State.Unresolved is to be told.
func (l *Lookup) Find(img *meta.Image, now int64, ended func() bool) (map[string]consumergroup.Resolved, bool) {
	return consumergroup.Resolve(l.Regexes, img, l.May, now, ended)
}

// TakeLookups gives the questions that operations left. There is one for a group at
// a time.
func (s *State) TakeLookups() []Lookup {
	l := s.lookups
	s.lookups = nil
	return l
}

// Resolved takes the answer to a Lookup.
func (s *State) Resolved(now int64, group string, found map[string]consumergroup.Resolved) (out Output) {
	c := s.consumers(group)
	if c == nil {
		return out
	}
	c.Resolving(false)
	changes := c.Resolved(s.env(group, now), found)
	out.write(group, changes)
	out.applied = func(int64, *Output) { apply(c, changes) }
	return out
}

// Unresolved says that a Lookup has no answer: what was known stays, and the next
// heartbeat asks again.
func (s *State) Unresolved(group string) {
	if c := s.consumers(group); c != nil {
		c.Resolving(false)
	}
}

// apply makes changes that are in the log.
func apply(c *consumergroup.Group, changes []consumergroup.Change) {
	for _, change := range changes {
		c.Apply(change)
	}
}
