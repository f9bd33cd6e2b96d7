package group

import (
	"slices"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
)

// Phase is the state of a group.
type Phase uint8

// The phases.
const (
	Empty Phase = iota
	PreparingRebalance
	CompletingRebalance
	Stable
	Dead
)

// String is Kafka's name of the phase.
func (p Phase) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}[p]
}

// unknownSince is the time of the last change of phase where an old record did not
// say.
const unknownSince = -1

// Group is one group: members with a generation, a group of the consumer protocol, or
// just offsets.
type Group struct {
	id       string
	phase    Phase
	previous Phase
	since    int64 // when the phase began, ms; unknownSince

	protocolType string  // of the members; empty: none yet, as with groups of offsets only
	protocol     *string // chosen for the generation; nil: none
	generation   int32
	leader       string // member id; empty: none

	members map[string]*member
	order   []*member          // as they came; the first takes over from a leader that left
	static  map[string]*member // by instance id (KIP-345)
	pending map[string]*timer  // member ids that were given out and not used yet (KIP-394)

	unsynced     map[string]struct{} // members that have not asked for their assignment
	awaitingJoin int
	supported    map[string]int // by protocol name: how many members know it
	newMember    bool           // somebody came during the initial delay
	topics       map[string]struct{}
	topicsKnown  bool // topics is what the members subscribe to

	joinTimer timer
	delay     int64 // of the initial rebalance: the present round
	remaining int64 // what is left of the longest rebalance timeout
	syncTimer timer

	offsets map[string]map[int32]Offset // by topic and partition

	// Of the consumer protocol. What is above, but the id and the offsets, is unused then.
	consumers *consumergroup.Group // nil: it is of the classic protocol
	watches   map[string]*watch    // by member
}

func newGroup(id string, now int64) *Group {
	g := &Group{id: id, previous: Dead, since: now,
		members: map[string]*member{}, static: map[string]*member{}, pending: map[string]*timer{},
		unsynced: map[string]struct{}{}, supported: map[string]int{}, offsets: map[string]map[int32]Offset{}}
	g.joinTimer = timer{kind: joinTimer, group: g}
	g.syncTimer = timer{kind: syncTimer, group: g}
	return g
}

// turn begins a phase.
func (g *Group) turn(p Phase, now int64) { g.previous, g.phase, g.since = g.phase, p, now }

// add adds a member. Its ticket, if any, is counted.
func (g *Group) add(m *member) {
	if len(g.order) == 0 {
		g.protocolType = m.protocolType
	}
	if g.leader == "" {
		g.leader = m.id
	}
	m.session = timer{kind: sessionTimer, group: g, member: m.id}
	g.members[m.id] = m
	g.order = append(g.order, m)
	if m.instance != nil {
		g.static[*m.instance] = m
	}
	g.count(m, 1)
	if m.join != nil {
		g.awaitingJoin++
	}
}

// count counts a member's protocols in or out.
func (g *Group) count(m *member, n int) {
	for i := range m.protocols {
		name := m.protocols[i].Name
		if g.supported[name] += n; g.supported[name] == 0 {
			delete(g.supported, name)
		}
	}
}

// remove takes a member out, whose parked requests must have been answered. The
// member that came next is the leader if it was.
func (s *State) remove(g *Group, m *member) {
	s.timers.cancel(&m.session)
	delete(g.members, m.id)
	delete(g.unsynced, m.id)
	g.order = slices.DeleteFunc(g.order, func(x *member) bool { return x == m })
	if m.instance != nil && g.static[*m.instance] == m {
		delete(g.static, *m.instance)
	}
	g.count(m, -1)
	if g.leader == m.id {
		g.leader = ""
		if len(g.order) > 0 {
			g.leader = g.order[0].id
		}
	}
}

// allJoined reports whether everybody who is expected has a parked JoinGroup.
func (g *Group) allJoined() bool { return len(g.order) == g.awaitingJoin && len(g.pending) == 0 }

// rebalanceMS is the longest rebalance timeout of the members.
func (g *Group) rebalanceMS() (most int64) {
	for _, m := range g.order {
		most = max(most, int64(m.rebalanceMS))
	}
	return most
}

// isConsumers reports whether the members are consumers, whose metadata can be
// read. Nobody else's is looked into.
func (g *Group) isConsumers() bool { return g.protocolType == "consumer" }

// subscribes reports whether a member may read a topic. Not to know is to say yes.
func (g *Group) subscribes(topic string) bool {
	if g.consumers != nil {
		return g.consumers.Subscribes(topic)
	}
	if !g.topicsKnown {
		return g.isConsumers()
	}
	_, ok := g.topics[topic]
	return ok
}

// empty reports whether a group has no members.
func (g *Group) empty() bool {
	if g.consumers != nil {
		return g.consumers.Len() == 0
	}
	return g.phase == Empty
}

// state is Kafka's name of the group's state.
func (g *Group) state() string {
	if g.consumers != nil {
		return g.consumers.State()
	}
	return g.phase.String()
}
