package consumergroup

import (
	"maps"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// firstEpoch is the epoch of a group before its first member, as in Kafka.
const firstEpoch = 1

// noTarget is the epoch of a target assignment that was deleted.
const noTarget = -1

// Group is a group of the consumer protocol. Only Apply changes what is in its
// records.
type Group struct {
	id      string
	members map[string]*Member
	static  map[string]string // member ids by instance id

	epoch int32
	hash  int64 // of the topics that the members subscribe to

	targetEpoch int32
	targetMS    int64 // when the target was computed; 0: never
	target      map[string]Assignment

	owners    map[kafka.TopicID]map[int32]int32 // the epoch of the member that has a partition
	names     map[string]subscribers            // by topic name
	regexes   map[string]int                    // how many members subscribe to each
	resolved  map[string]Resolved
	assignors map[string]int // how many members wish for each
	classic   int            // members that use the classic protocol
	protocols map[string]int // of those: how many know each

	legacyTopics bool // there is a record of an older kind, to be deleted

	checked   bool // the topics are what hash says, as far as the image goes
	resolving bool // the expressions are being looked up
}

// subscribers counts who subscribes to a topic.
type subscribers struct {
	names   int // members, by name
	regexes int // expressions
}

// New makes a group without members.
func New(id string) *Group {
	return &Group{id: id, epoch: firstEpoch, targetEpoch: firstEpoch, members: map[string]*Member{}, static: map[string]string{}, target: map[string]Assignment{},
		owners: map[kafka.TopicID]map[int32]int32{}, names: map[string]subscribers{}, regexes: map[string]int{},
		resolved: map[string]Resolved{}, assignors: map[string]int{}, protocols: map[string]int{}}
}

// Env is what an operation may look at besides its group.
type Env struct {
	NowMS     int64
	Image     *meta.Image
	NewTopics uint64 // index of the last image with topics that were not there before
	Rules     *Rules
	NewID     func() string
}

// Rules are what the broker's configuration and the group's say about a group.
// Times are milliseconds.
type Rules struct {
	MaxSize              int
	ClassicMaxSize       int      // of groups of the classic protocol
	Assignors            []string // that may be used; the first is the default
	AssignmentIntervalMS int64    // between two target assignments
	RegexRefreshMS       int64
	SessionMS            int64
	HeartbeatMS          int32
	Migration            Migration
}

// Migration says which groups may change between the protocols with members in them
// (group.consumer.migration.policy).
type Migration struct {
	Upgrade, Downgrade bool
}

// Len is the number of members.
func (g *Group) Len() int { return len(g.members) }

// Epoch is the group's epoch.
func (g *Group) Epoch() int32 { return g.epoch }

// Member finds a member; nil: there is none.
func (g *Group) Member(id string) *Member { return g.members[id] }

// staticMember finds the member with an instance id; nil: there is none.
func (g *Group) staticMember(instance string) *Member {
	if instance == "" {
		return nil
	}
	return g.members[g.static[instance]]
}

// Members are the members in the order of their ids.
func (g *Group) Members() []*Member {
	all := make([]*Member, 0, len(g.members))
	for _, id := range slices.Sorted(maps.Keys(g.members)) {
		all = append(all, g.members[id])
	}
	return all
}

// Subscribes reports whether a member may read a topic.
func (g *Group) Subscribes(topic string) bool {
	_, ok := g.names[topic]
	return ok
}

// SubscribesToAny reports whether a member may read any of some topics.
func (g *Group) SubscribesToAny(topics map[string]bool) bool {
	if len(topics) < len(g.names) {
		for name := range topics {
			if g.Subscribes(name) {
				return true
			}
		}
		return false
	}
	for name := range g.names {
		if topics[name] {
			return true
		}
	}
	return false
}

// Topics calls yield with each topic that members subscribe to.
func (g *Group) Topics(yield func(string) bool) {
	for name := range g.names {
		if !yield(name) {
			return
		}
	}
}

// HasRegexes reports whether a member subscribes to an expression.
func (g *Group) HasRegexes() bool { return len(g.regexes) > 0 }

// TopicsChanged has the next heartbeat look at the topics again.
func (g *Group) TopicsChanged() { g.checked = false }

// State is Kafka's name of the group's state.
func (g *Group) State() string {
	switch {
	case len(g.members) == 0:
		return "Empty"
	case g.epoch > g.targetEpoch:
		return "Assigning"
	}
	for _, m := range g.members {
		if !m.reconciled(g.targetEpoch) {
			return "Reconciling"
		}
	}
	return "Stable"
}

// owner is the epoch of the member that has a partition; -1: nobody has it.
func (g *Group) owner(topic kafka.TopicID, partition int32) int32 {
	if e, ok := g.owners[topic][partition]; ok {
		return e
	}
	return -1
}
