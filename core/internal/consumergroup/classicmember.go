package consumergroup

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// ProtocolType is the only type of protocol that classic members of a group of the
// consumer protocol can have.
const ProtocolType = "consumer"

// Join is a JoinGroup of a member that uses the classic protocol in a group of the
// consumer protocol (KIP-848, online migration).
type Join struct {
	MemberID     string // empty: it has none yet
	Instance     string // empty: dynamic
	SessionMS    int32
	RebalanceMS  int32
	ProtocolType string
	Protocols    []Protocol
	NeedsID      bool // a new member is told its id first (KIP-394)

	ClientID, Host string
}

// Joined is what a Join wants done.
type Joined struct {
	Outcome
	RetryAs string // not empty: nothing is done; the member shall come again with this id

	// Downgrade says that all members use the classic protocol then, so that the group
	// turns to it. Rebalance: what they have is not what they should have.
	Downgrade, Rebalance bool
	Replaced             string // with Downgrade: the id whose place the member takes
}

// JoinClassic handles a Join.
func (g *Group) JoinClassic(env *Env, j *Join) (out Joined, err *kafka.Error) {
	p := g.plan(env)
	out.plan = p
	if !env.Rules.Migration.Upgrade && !env.Rules.Migration.Downgrade {
		return out, kafka.ErrInconsistentGroupProtocol.Err("")
	}
	id := j.MemberID
	if id == "" {
		id = env.NewID()
	}
	if err := g.hasRoom(env.Rules, id, j.Instance); err != nil {
		return out, err
	}
	if !g.supports(j.ProtocolType, j.Protocols) {
		return out, kafka.ErrInconsistentGroupProtocol.Err(fmt.Sprintf("Member %s's protocols are not supported.", id))
	}
	if j.NeedsID {
		out.RetryAs = id
		return out, nil
	}
	m, err := p.enter(id, j.Instance, j.Instance == "" || j.MemberID == "", true, func(*Member) *kafka.Error { return nil })
	if err != nil {
		return out, err
	}
	old := g.staticMember(j.Instance)
	out.Downgrade = g.replacedDowngrades(env.Rules, old)
	said, ok := parseSubscription(j.Protocols[0].Metadata)
	if !ok {
		return out, kafka.ErrInconsistentGroupProtocol.Err("Malformed embedded consumer protocol in subscription deserialization.")
	}
	return out, p.join(&out, j, m, said, old)
}

// join takes over what a classic member says.
func (p *plan) join(out *Joined, j *Join, m *Member, said *embedded, replaced *Member) *kafka.Error {
	g := p.g
	next := j.onto(m, said)
	names := p.updateMember(m, next)
	regex, resolve, err := p.updateRegex(m, next)
	if err != nil {
		return err
	}
	changed := names || regex != regexSame
	if changed || !g.checked {
		g.updateEpoch(p.env, changed, g.namesWith(m, next), p)
	}
	target, epoch := g.targetOf(next), g.targetEpoch
	if out.Downgrade {
		out.Replaced, out.Rebalance = replaced.ID, g.targetEpoch < p.epoch || !g.settledBut(replaced)
	} else if target, epoch, err = p.retarget(m, next); err != nil {
		return err
	}
	out.Member = next
	if !out.Rebalance {
		owned := said.owned(p.env.Image)
		if out.Member, out.Moved, err = p.reconcile(next, target, epoch, changed, true, owned); err != nil {
			return err
		}
	}
	out.Changes, out.Resolve = p.changes, resolve
	return nil
}

// onto is a member with what it says now.
func (j *Join) onto(m *Member, said *embedded) *Member {
	next := *m
	if j.Instance != "" {
		next.Instance = j.Instance
	}
	if said.rack != "" {
		next.Rack = said.rack
	}
	if j.RebalanceMS != -1 {
		next.RebalanceMS = j.RebalanceMS
	}
	next.Topics, next.Regex = said.topics, ""
	next.ClientID, next.Host = j.ClientID, j.Host
	next.Classic = &Classic{SessionMS: j.SessionMS, Protocols: j.Protocols}
	return &next
}

// supports reports whether a classic member fits: one of its protocols is known to
// all classic members.
func (g *Group) supports(protocolType string, protocols []Protocol) bool {
	if protocolType != ProtocolType {
		return false
	}
	for _, p := range protocols {
		if len(g.members) == 0 || g.protocols[p.Name] == g.classic {
			return true
		}
	}
	return false
}

// replacedDowngrades reports whether a classic member that takes the place of another
// leaves no member of the consumer protocol.
func (g *Group) replacedDowngrades(rules *Rules, replaced *Member) bool {
	return replaced != nil && replaced.Classic == nil && g.classic == len(g.members)-1 &&
		rules.Migration.Downgrade && len(g.members) <= rules.ClassicMaxSize
}

// settledBut reports whether all members but one have what they should have. Kafka
// does not look: a group that turns to the classic protocol while partitions move would
// give some of them to two members, until the one that is behind asks again.
func (g *Group) settledBut(one *Member) bool {
	for _, m := range g.members {
		if m != one && !m.reconciled(g.targetEpoch) {
			return false
		}
	}
	return true
}

// LeavingDowngrades reports whether none but classic members are left when some
// leave, so that the group turns to the classic protocol.
func (g *Group) LeavingDowngrades(rules *Rules, gone []*Member) bool {
	classic, left := g.classic, len(g.members)-len(gone)
	for _, m := range gone {
		if m.Classic != nil {
			classic--
		}
	}
	return classic == left && left > 0 && rules.Migration.Downgrade && left <= rules.ClassicMaxSize
}

// ClassicMember finds the member of a request of the classic protocol.
func (g *Group) ClassicMember(id, instance string, generation int32) (*Member, *kafka.Error) {
	m := g.members[id]
	if instance != "" {
		switch m = g.staticMember(instance); {
		case m != nil && m.ID != id:
			return nil, fencedInstance(m, id, instance)
		case m == nil:
			return nil, kafka.ErrUnknownMemberID.Err("")
		}
	}
	switch {
	case m == nil || m.Classic == nil:
		return nil, kafka.ErrUnknownMemberID.Err("")
	case m.Epoch != generation:
		return nil, kafka.ErrIllegalGeneration.Err("")
	}
	return m, nil
}

// CheckSync refuses the SyncGroup of a member that should join again. rejoin says
// that it has its rebalance timeout for that.
func (g *Group) CheckSync(m *Member, protocolType, protocol *string) (err *kafka.Error, rejoin bool) {
	switch {
	case protocolType != nil && *protocolType != ProtocolType, protocol != nil && *protocol != m.Classic.Protocols[0].Name:
		return kafka.ErrInconsistentGroupProtocol.Err(""), false
	case g.targetEpoch > m.Epoch && m.State != Unrevoked:
		return kafka.ErrRebalanceInProgress.Err(""), true
	}
	return nil, false
}

// MustRejoin reports whether a classic member has to join again: it is behind, has to
// give something up, or can have what others have given up.
func (g *Group) MustRejoin(m *Member) bool {
	return m.Epoch < g.targetEpoch || m.State == Unrevoked || m.State == Unreleased && !g.waits(m)
}

// waits reports whether others still have what a member is to get.
func (g *Group) waits(m *Member) bool {
	for topic, partitions := range g.target[m.ID] {
		for _, p := range partitions {
			if !m.Assigned.has(topic, p) && g.owner(topic, p) != -1 {
				return true
			}
		}
	}
	return false
}
