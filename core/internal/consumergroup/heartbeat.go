package consumergroup

import (
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// TopicPartitions are partitions of one topic.
type TopicPartitions struct {
	Topic      kafka.TopicID
	Partitions []int32
}

// Heartbeat is what a member says. What it does not say stays as it was.
type Heartbeat struct {
	MemberID       string
	Epoch          int32  // 0: it joins
	Instance       string // empty: dynamic
	Rack           *string
	RebalanceMS    int32    // -1: not said
	Topics         []string // nil: not said. Sorted, each once
	Regex          *string
	Assignor       *string
	Owned          []TopicPartitions
	OwnedKnown     bool
	ClientID, Host string
}

// full reports whether the member said everything, which asks for everything back.
func (h *Heartbeat) full() bool {
	return h.RebalanceMS != -1 && (h.Topics != nil || h.Regex != nil) && h.OwnedKnown
}

// Outcome is what an operation on a member wants done.
type Outcome struct {
	Changes []Change
	Member  *Member  // as it is then
	Show    bool     // its assignment is to be told
	Moved   bool     // its current assignment is written: its rebalance timeout begins or ends
	Resolve []string // expressions to look up; nil: none

	plan *plan
}

// Done notes that the changes of an operation are in the log, after they were
// applied.
func (g *Group) Done(o *Outcome) {
	if o.plan.checked {
		g.checked = true
	}
}

// Beat answers the heartbeat of a member that has what it is to have, and says
// nothing new. It gives nil where Heartbeat has to be asked.
//
// Hot: per heartbeat. 0 allocs.
func (g *Group) Beat(h *Heartbeat) *Member {
	m := g.members[h.MemberID]
	if m == nil || m.Epoch != h.Epoch || h.Epoch <= 0 || !g.checked || m.Instance != h.Instance || m.Classic != nil ||
		g.targetEpoch < g.epoch || !m.reconciled(g.targetEpoch) || h.RebalanceMS != -1 || h.Topics != nil || h.Regex != nil ||
		h.Assignor != nil || h.Rack != nil || m.ClientID != h.ClientID || m.Host != h.Host || len(g.regexes) > 0 {
		return nil
	}
	return m
}

// Heartbeat handles a member's heartbeat that joins or stays.
func (g *Group) Heartbeat(env *Env, h *Heartbeat) (out Outcome, err *kafka.Error) {
	p := g.plan(env)
	out.plan = p
	joins := h.Epoch == 0
	if err := g.hasRoom(env.Rules, h.MemberID, h.Instance); err != nil {
		return out, err
	}
	id := h.MemberID
	if id == "" {
		id = env.NewID()
	}
	m, err := p.enter(id, h.Instance, joins, false, func(m *Member) *kafka.Error { return m.checkEpoch(h.Epoch, h.Owned, h.OwnedKnown) })
	if err != nil {
		return out, err
	}
	next := h.onto(m)
	names := p.updateMember(m, next)
	regex, resolve, err := p.updateRegex(m, next)
	if err != nil {
		return out, err
	}
	wish := g.preferred(env.Rules, nil, nil) != g.preferred(env.Rules, m, next)
	if bump := names || regex == regexChangedResolved || wish; bump || !g.checked {
		g.updateEpoch(env, bump, g.namesWith(m, next), p)
	}
	target, epoch, err := p.retarget(m, next)
	if err != nil {
		return out, err
	}
	last, moved, err := p.reconcile(next, target, epoch, names || regex != regexSame, h.OwnedKnown, h.Owned)
	if err != nil {
		return out, err
	}
	out.Changes, out.Member, out.Moved, out.Resolve = p.changes, last, moved, resolve
	out.Show = joins || h.full() || !last.Assigned.Equal(m.Assigned)
	return out, nil
}

// onto is a member with what it says now.
func (h *Heartbeat) onto(m *Member) *Member {
	next := *m
	if h.Instance != "" {
		next.Instance = h.Instance
	}
	if h.Rack != nil {
		next.Rack = *h.Rack
	}
	if h.RebalanceMS != -1 {
		next.RebalanceMS = h.RebalanceMS
	}
	if h.Assignor != nil {
		next.Assignor = *h.Assignor
	}
	if h.Topics != nil {
		next.Topics = h.Topics
	}
	if h.Regex != nil {
		next.Regex = *h.Regex
	}
	next.ClientID, next.Host, next.Classic = h.ClientID, h.Host, nil
	return &next
}

// updateMember writes what a member says, if that is new. It reports whether it
// subscribes to other names.
func (p *plan) updateMember(old, next *Member) (names bool) {
	if old.sameSubscription(next) {
		return false
	}
	p.add(setMember{next})
	return !slices.Equal(old.Topics, next.Topics)
}

// hasRoom holds group.consumer.max.size.
func (g *Group) hasRoom(rules *Rules, id, instance string) *kafka.Error {
	if len(g.members) >= rules.MaxSize && g.members[id] == nil && g.staticMember(instance) == nil {
		return kafka.ErrGroupMaxSizeReached.Err(fmt.Sprintf("The consumer group has reached its maximum capacity of %d members.", rules.MaxSize))
	}
	return nil
}

// enter finds the member of a request, or makes one that joins. A static member that
// left for a while, or that changes its protocol, is replaced.
func (p *plan) enter(id, instance string, create, classic bool, check func(*Member) *kafka.Error) (*Member, *kafka.Error) {
	g := p.g
	if instance == "" {
		m := g.members[id]
		if m == nil {
			if !create {
				return nil, g.unknownMember(id)
			}
			m = newMember(id)
		}
		return m, check(m)
	}
	m := g.staticMember(instance)
	switch {
	case !create && m == nil:
		return nil, unknownInstance(instance)
	case !create && m.ID != id:
		return nil, fencedInstance(m, id, instance)
	case !create:
		return m, check(m)
	case m == nil:
		if old := g.members[id]; old != nil {
			return old, nil
		}
		return newMember(id), nil
	case !classic && m.Classic == nil && m.Epoch != LeaveStaticEpoch:
		return nil, kafka.ErrUnreleasedInstanceID.Err(fmt.Sprintf("Static member %s with instance id %s cannot join the group because the instance id is owned by %s member.", id, instance, m.ID))
	}
	next := *m
	next.ID, next.Epoch, next.Previous = id, 0, 0
	p.replace(m, &next)
	return &next, nil
}

// replace puts a member in the place of another one.
func (p *plan) replace(old, next *Member) {
	p.add(dropCurrent{old.ID}, dropTarget{old.ID}, dropMember{old.ID}, setMember{next}, setTarget{next.ID, p.g.target[old.ID]}, setCurrent{next})
}

// checkEpoch compares the epoch of a request with the member's. The epoch before is
// right too if the member has nothing else than it should: the answer was lost.
func (m *Member) checkEpoch(epoch int32, owned []TopicPartitions, known bool) *kafka.Error {
	switch {
	case epoch == 0 || epoch == m.Epoch:
		return nil
	case epoch > m.Epoch:
		return kafka.ErrFencedMemberEpoch.Err(fmt.Sprintf("The consumer group member has a greater member epoch (%d) than the one known by the group coordinator (%d). The member must abandon all its partitions and rejoin.", epoch, m.Epoch))
	case epoch != m.Previous || !known || !m.Assigned.contains(owned):
		return kafka.ErrFencedMemberEpoch.Err(fmt.Sprintf("The consumer group member has a smaller member epoch (%d) than the one known by the group coordinator (%d). The member must abandon all its partitions and rejoin.", epoch, m.Epoch))
	}
	return nil
}

// contains reports whether all of some partitions are among them.
func (o Owned) contains(list []TopicPartitions) bool {
	for i := range list {
		have, ok := o[list[i].Topic]
		if !ok {
			return false
		}
		for _, p := range list[i].Partitions {
			if _, ok := have[p]; !ok {
				return false
			}
		}
	}
	return true
}

func (g *Group) unknownMember(id string) *kafka.Error {
	return kafka.ErrUnknownMemberID.Err(fmt.Sprintf("Member %s is not a member of group %s.", id, g.id))
}

func unknownInstance(instance string) *kafka.Error {
	return kafka.ErrUnknownMemberID.Err(fmt.Sprintf("Instance id %s is unknown.", instance))
}

func fencedInstance(owner *Member, id, instance string) *kafka.Error {
	return kafka.ErrFencedInstanceID.Err(fmt.Sprintf("Static member %s with instance id %s was fenced by member %s.", id, instance, owner.ID))
}
