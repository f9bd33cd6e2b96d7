package consumergroup

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// TestAGroupIsWhatItsRecordsSay lets members join, stay, change their minds and
// leave, topics grow and go, in any order. Every now and then the group made of the
// records alone is the same, no partition has two owners, and what is noted of owners
// is what members have.
func TestAGroupIsWhatItsRecordsSay(t *testing.T) {
	for seed := range uint64(60) {
		w := newWorld(t, seed)
		for i := range 120 {
			w.step()
			if i%4 == 3 { // the whole log is read each time
				w.check()
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// world is a group, its records, and what its members know.
type world struct {
	t     *testing.T
	rand  *rand.Rand
	env   Env
	rules Rules
	g     *Group
	log   [][2][]byte
	known map[string]*Member // as they were told last
	tops  [3]int             // partitions; 0: the topic is not there
	ids   int
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 11)), g: New("g"), known: map[string]*Member{}, tops: [3]int{3, 5, 0}}
	w.rules = Rules{MaxSize: 6, ClassicMaxSize: 6, Assignors: Assignors(), RegexRefreshMS: 600_000, SessionMS: 45_000, Migration: Migration{Upgrade: true, Downgrade: true}}
	w.env = Env{NowMS: 1_000_000, Rules: &w.rules, NewID: func() string { w.ids++; return fmt.Sprint("new", w.ids) }}
	w.look()
	return w
}

// look makes the image of the topics anew.
func (w *world) look() {
	index := uint64(1)
	if w.env.Image != nil {
		index = w.env.Image.Index + 1
	}
	w.env.Image, w.env.NewTopics = picture(index), index
	e := w.env.Image.Edit(index + 1)
	for i, n := range w.tops {
		if n > 0 {
			e.PutTopic(topic(topicID(byte(i)), fmt.Sprint("t", i), n))
		}
	}
	w.env.Image = e.Image()
	w.g.TopicsChanged()
}

// write has changes written and made.
func (w *world) write(changes []Change) {
	for _, c := range changes {
		w.log = append(w.log, [2][]byte{c.Key("g"), c.Value()})
		w.g.Apply(c)
	}
}

// names are one of the ways to subscribe.
func (w *world) names() []string {
	return [][]string{{}, {"t0"}, {"t0", "t1"}, {"t1", "t2", "t3"}}[w.rand.IntN(4)]
}

func (w *world) step() {
	w.env.NowMS += w.rand.Int64N(5000)
	id := fmt.Sprint("m", w.rand.IntN(6))
	instance := ""
	if w.rand.IntN(3) == 0 {
		instance = fmt.Sprint("i", w.rand.IntN(2))
	}
	switch w.rand.IntN(9) {
	case 0:
		w.tops[w.rand.IntN(3)] = w.rand.IntN(4) * 2
		w.look()
	case 1, 2:
		h := Heartbeat{MemberID: id, Instance: instance, RebalanceMS: 1000, Topics: w.names(), OwnedKnown: true, ClientID: "c", Host: "/h"}
		if w.rand.IntN(3) == 0 {
			regex := []string{"t.*", "t[01]", ""}[w.rand.IntN(3)]
			h.Regex = &regex
		}
		if w.rand.IntN(3) == 0 {
			h.Assignor = &Assignors()[w.rand.IntN(2)]
		}
		w.beat(&h)
	case 3:
		w.classic(id, instance)
	case 4:
		w.leave()
	default:
		if m := w.any(); m != nil {
			w.beat(w.stay(m))
		}
	}
}

// any is a member, as it was told last.
func (w *world) any() *Member {
	if len(w.known) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(w.known))
	return w.known[ids[w.rand.IntN(len(ids))]]
}

// stay is the heartbeat of a member that has given up what it was told to.
func (w *world) stay(m *Member) *Heartbeat {
	h := &Heartbeat{MemberID: m.ID, Instance: m.Instance, Epoch: m.Epoch, RebalanceMS: -1, ClientID: "c", Host: "/h", OwnedKnown: w.rand.IntN(4) > 0}
	for id, partitions := range m.Assigned.plain() {
		h.Owned = append(h.Owned, TopicPartitions{id, partitions})
	}
	if w.rand.IntN(5) == 0 {
		h.Topics = w.names()
	}
	return h
}

func (w *world) beat(h *Heartbeat) {
	out, err := w.g.Heartbeat(&w.env, h)
	if err != nil {
		if err.Code == kafka.ErrUnknownServerError {
			w.t.Error(err)
		}
		delete(w.known, h.MemberID)
		return
	}
	if m := w.g.Beat(h); m != nil && len(out.Changes) > 0 {
		w.t.Errorf("the short way took a heartbeat that has %d changes", len(out.Changes))
	}
	w.done(&out)
	if out.Resolve != nil {
		found, _ := Resolve(out.Resolve, w.env.Image, nil, w.env.NowMS, wanted)
		w.write(w.g.Resolved(&w.env, found))
	}
}

// done makes what an operation wants.
func (w *world) done(out *Outcome) {
	w.write(out.Changes)
	w.g.Done(out)
	maps.DeleteFunc(w.known, func(id string, _ *Member) bool { return w.g.Member(id) == nil })
	if out.Member.Classic == nil {
		w.known[out.Member.ID] = out.Member
	}
}

func (w *world) classic(id, instance string) {
	metadata := (&embedded{topics: []string{"t0", "t1"}}).encode()
	out, err := w.g.JoinClassic(&w.env, &Join{MemberID: id, Instance: instance, SessionMS: 1000, RebalanceMS: 1000, ProtocolType: ProtocolType,
		Protocols: []Protocol{{"range", metadata}}, ClientID: "c", Host: "/h"})
	if err != nil {
		return
	}
	if out.Downgrade {
		w.convert(&out)
		return
	}
	w.done(&out.Outcome)
}

// convert goes to the classic protocol and back.
func (w *world) convert(out *Joined) {
	w.write(out.Changes)
	members, tombstones := w.g.ToClassic(nil, out.Member, out.Replaced, w.env.Image)
	w.write(tombstones)
	g, changes, err := FromClassic("g", w.g.Epoch(), w.rand.IntN(2) == 0, members, w.env.Image)
	if err != nil {
		w.t.Fatal(err)
	}
	w.known = map[string]*Member{}
	w.log = nil
	for _, c := range changes {
		w.log = append(w.log, [2][]byte{c.Key("g"), c.Value()})
	}
	w.g = g
}

func (w *world) leave() {
	all := w.g.Members()
	if len(all) == 0 {
		return
	}
	m := all[w.rand.IntN(len(all))]
	delete(w.known, m.ID)
	if m.Instance != "" && m.Classic == nil && w.rand.IntN(2) == 0 {
		w.write(w.g.Pause(m))
		return
	}
	w.write(w.g.Remove(&w.env, []*Member{m}))
}

// check holds the invariants.
func (w *world) check() {
	twin := New("g")
	for _, r := range w.log {
		id, c, err := Decode(r[0], r[1])
		if err != nil || id != "g" {
			w.t.Fatalf("%q: %v", id, err)
		}
		twin.Apply(c)
	}
	if why := difference(w.g, twin); why != "" {
		w.t.Errorf("the records say something else about %s", why)
	}
	owners := map[kafka.TopicID]map[int32]string{}
	for _, m := range w.g.Members() {
		for id, partitions := range merged(m.Assigned, m.Revoking) {
			for _, p := range partitions {
				if owners[id] == nil {
					owners[id] = map[int32]string{}
				}
				if other, taken := owners[id][p]; taken {
					w.t.Errorf("partition %d has the owners %s and %s", p, other, m.ID)
				}
				owners[id][p] = m.ID
				if w.g.owner(id, p) != m.Epoch {
					w.t.Errorf("partition %d is of epoch %d, its owner %s of %d", p, w.g.owner(id, p), m.ID, m.Epoch)
				}
			}
		}
	}
	if len(owners) != len(w.g.owners) {
		w.t.Errorf("owners of %d topics are noted, %d have any", len(w.g.owners), len(owners))
	}
}

// difference is where two groups differ; empty: nowhere.
func difference(a, b *Group) string {
	same := func(x, y *Member) bool { return x.sameSubscription(y) && x.sameCurrent(y) }
	switch {
	case !maps.EqualFunc(a.members, b.members, same):
		return "members"
	case !maps.Equal(a.static, b.static):
		return "static members"
	case a.epoch != b.epoch || a.hash != b.hash || a.targetEpoch != b.targetEpoch || a.targetMS != b.targetMS:
		return "epochs"
	case !maps.EqualFunc(a.target, b.target, Assignment.equal):
		return "targets"
	case !maps.EqualFunc(a.owners, b.owners, maps.Equal):
		return "owners"
	case !maps.Equal(a.names, b.names) || !maps.Equal(a.regexes, b.regexes) || !maps.Equal(a.assignors, b.assignors) || !maps.Equal(a.protocols, b.protocols) || a.classic != b.classic:
		return "counts"
	case !maps.EqualFunc(a.resolved, b.resolved, func(x, y Resolved) bool {
		return x.Version == y.Version && x.AtMS == y.AtMS && slices.Equal(x.Topics, y.Topics)
	}):
		return "expressions"
	}
	return ""
}
