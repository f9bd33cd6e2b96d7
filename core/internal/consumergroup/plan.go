package consumergroup

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mortisemq/mortise/core/internal/assignor"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// plan is what an operation wants to change, before it has.
type plan struct {
	g       *Group
	env     *Env
	changes []Change
	epoch   int32 // of the group, then
	checked bool  // the topics were looked at
}

func (g *Group) plan(env *Env) *plan { return &plan{g: g, env: env, epoch: g.epoch} }

// add adds a change.
func (p *plan) add(c ...Change) { p.changes = append(p.changes, c...) }

// preferred is the assignor that most members wish for, if one took the place of
// another. Among equals the last by name wins: uniform, as in Kafka. Without wishes it
// is the default.
func (g *Group) preferred(rules *Rules, old, next *Member) string {
	counts := maps.Clone(g.assignors)
	if old != nil && old.Assignor != "" {
		add(counts, old.Assignor, -1)
	}
	if next != nil && next.Assignor != "" {
		add(counts, next.Assignor, 1)
	}
	best := ""
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] >= counts[best] {
			best = name
		}
	}
	return cmp.Or(best, rules.Assignors[0])
}

// retarget computes the target assignment of the group's epoch, unless there is one
// or the last one is too young. It gives the member's target and the epoch of that.
func (p *plan) retarget(old, next *Member) (Assignment, int32, *kafka.Error) {
	g := p.g
	if g.targetEpoch >= p.epoch || !p.mayRetarget() {
		return g.targetOf(next), g.targetEpoch, nil
	}
	members := maps.Clone(g.members)
	targets := maps.Clone(g.target)
	if next.Instance != "" {
		if was := g.static[next.Instance]; was != "" && was != next.ID {
			delete(members, was)
			if target, ok := targets[was]; ok {
				targets[next.ID] = target
				delete(targets, was)
			}
		}
	}
	members[next.ID] = next
	assigned, err := p.assign(g.preferred(p.env.Rules, old, next), members, targets)
	if err != nil {
		return nil, 0, kafka.ErrUnknownServerError.Err(err.Error())
	}
	for _, id := range slices.Sorted(maps.Keys(members)) {
		target := Assignment(assigned[id])
		if before, had := targets[id]; !had || !target.equal(before) {
			p.add(setTarget{id, target})
		}
	}
	p.add(setTargetEpoch{p.epoch, p.env.NowMS})
	return assigned[next.ID], p.epoch, nil
}

// mayRetarget holds the time between two target assignments, which lets many members
// come in one.
func (p *plan) mayRetarget() bool {
	every := p.env.Rules.AssignmentIntervalMS
	return p.g.targetMS == 0 || every == 0 || p.env.NowMS >= p.g.targetMS+every
}

// targetOf is a member's target, or that of the static member that it replaces.
func (g *Group) targetOf(m *Member) Assignment {
	if m.Instance != "" {
		return g.target[g.static[m.Instance]]
	}
	return g.target[m.ID]
}

// assign asks an assignor.
func (p *plan) assign(name string, members map[string]*Member, targets map[string]Assignment) (map[string]map[kafka.TopicID][]int32, error) {
	topics := map[kafka.TopicID]assignor.Topic{}
	list := make([]assignor.Member, 0, len(members))
	for _, id := range slices.Sorted(maps.Keys(members)) {
		m := members[id]
		ids := p.g.subscribedIDs(m, p.env.Image)
		for _, topic := range ids {
			if _, ok := topics[topic]; !ok {
				topics[topic] = described(topic, p.env.Image)
			}
		}
		list = append(list, assignor.Member{ID: m.ID, InstanceID: m.Instance, RackID: m.Rack, Topics: ids, Current: targets[id]})
	}
	if name == assignorRange {
		return assignor.Range(list, topics)
	}
	return assignor.Uniform(list, topics)
}

// The assignors that there are (group.consumer.assignors).
const (
	assignorUniform = "uniform"
	assignorRange   = "range"
)

// Assignors are the names of the assignors that there are.
func Assignors() []string { return []string{assignorUniform, assignorRange} }

// described is a topic as assignors see it.
func described(id kafka.TopicID, img *meta.Image) assignor.Topic {
	t, _ := img.TopicByID(id)
	return assignor.Topic{ID: id, Name: t.Name, Partitions: int32(len(t.Partitions)),
		Racks: func(p int32) []string { return racksOf(t, p, img) }}
}

// reconcile moves a member towards its target. It reports whether that is written.
func (p *plan) reconcile(m *Member, target Assignment, epoch int32, changed, known bool, owned []TopicPartitions) (*Member, bool, *kafka.Error) {
	if !changed && m.reconciled(epoch) {
		return m, false, nil
	}
	ids := p.g.subscribedIDs(m, p.env.Image)
	r := reconciliation{epoch: epoch, target: target, changed: changed, owner: p.g.owner, owned: owned, known: known,
		subscribed: func(id kafka.TopicID) bool {
			_, ok := slices.BinarySearchFunc(ids, id, kafka.TopicID.Compare)
			return ok
		}}
	next, err := r.next(m)
	if err != nil || next.sameCurrent(m) {
		return m, false, err
	}
	p.add(setCurrent{next})
	return next, true, nil
}
