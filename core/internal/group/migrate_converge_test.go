package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// TestBothProtocolsConverge lets consumers of both protocols join one group, beat,
// leave, die, lose answers and change their protocol in any order, lets time pass,
// topics grow, appends fail, and restarts the coordinator from its log. No partition
// ever has two owners among the members. When that ends, those who are left share
// every partition, and nobody is left out.
func TestBothProtocolsConverge(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		w := newTown(t, seed)
		w.chaos(80)
		w.calm()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// townTopic is what everybody in a town reads.
const townTopic = "t"

// town is a group and its consumers.
type town struct {
	t          *testing.T
	rand       *rand.Rand
	state      *State
	img        *meta.Image
	log        []Record
	now        int64
	partitions int
	citizens   []*citizen
	shaky      bool // appends fail now and then
	ids        int
}

func newTown(t *testing.T, seed uint64) *town {
	w := &town{t: t, rand: rand.New(rand.NewPCG(seed, 3)), now: 1_000_000, partitions: 3}
	w.grow()
	w.start()
	for i := range 2 + w.rand.IntN(4) {
		c := &citizen{w: w, name: fmt.Sprintf("c%d", i), classic: w.rand.IntN(2) == 0}
		if w.rand.IntN(3) == 0 {
			c.instance = &c.name
		}
		c.reset()
		w.citizens = append(w.citizens, c)
	}
	return w
}

// grow makes an image in which the topic has one partition more.
func (w *town) grow() {
	w.partitions++
	before := w.img
	if before == nil {
		before = meta.Empty("c")
	}
	e := before.Edit(before.Index + 1)
	e.PutTopic(&meta.Topic{Name: townTopic, ID: kafka.TopicID{1}, Partitions: make([]meta.Partition, w.partitions)})
	w.img = e.Image()
	if w.state != nil {
		w.state.SetImage(w.img, func() bool { return false })
	}
}

// start loads the group from the log.
func (w *town) start() {
	w.state = New(ruled(), ruledConsumers, IDs{UUID: w.newID, Member: w.newID})
	for _, r := range w.log {
		if err := w.state.Replay(r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	w.state.SetImage(w.img, func() bool { return true })
	w.do(w.state.Loaded(w.now))
}

func (w *town) newID() string { w.ids++; return fmt.Sprint("u", w.ids) }

// do appends, now and then in vain, and answers.
func (w *town) do(out Output) {
	for len(out.Records) > 0 {
		code := kafka.None
		if w.shaky && w.rand.IntN(20) == 0 {
			code = kafka.ErrNotEnoughReplicas
		} else {
			w.log = append(w.log, out.Records...)
		}
		out = w.state.Appended(w.now, out, code)
	}
	for _, r := range out.Replies {
		r.To.Answer(r.Message)
	}
}

// pass lets time pass.
func (w *town) pass(ms int64) {
	for end := w.now + ms; w.now < end; {
		next, ok := w.state.Next()
		if !ok || next > end {
			w.now = end
			return
		}
		w.now = max(w.now, next)
		if out, ok := w.state.Expire(w.now); ok {
			w.do(out)
		}
	}
}

// chaos lets n things happen.
func (w *town) chaos(n int) {
	w.shaky = true
	defer func() { w.shaky = false }()
	for range n {
		c := w.citizens[w.rand.IntN(len(w.citizens))]
		switch w.rand.IntN(16) {
		case 0:
			w.pass(w.rand.Int64N(60_000))
		case 1:
			c.waits, c.said = nil, false // the connection breaks
		case 2:
			c.leave()
		case 3:
			c.dead = w.rand.IntN(6) == 0
		case 4:
			w.do(w.state.Unload())
			w.start()
		case 5:
			w.grow()
		case 6: // it is started anew with the other protocol
			c.leave()
			c.classic = !c.classic
			c.reset()
		default:
			c.step()
			w.pass(w.rand.Int64N(500))
		}
	}
}

// calm lets everybody who lives go on without accidents, and looks at the end.
func (w *town) calm() {
	for range 300 {
		for _, c := range w.citizens {
			c.step()
		}
		w.pass(1000)
	}
	owned, alive := map[int32]bool{}, 0
	for _, c := range w.citizens {
		if c.dead {
			continue
		}
		alive++
		if c.epoch == 0 || !w.isMember(c.id) {
			w.t.Errorf("%s (%s) is left out", c.name, c.id)
		}
		for _, p := range c.owned {
			owned[p] = true
		}
	}
	if alive > 0 && len(owned) != w.partitions {
		w.t.Errorf("%d of %d partitions have an owner", len(owned), w.partitions)
	}
}

// isMember reports whether the coordinator knows a member.
func (w *town) isMember(id string) bool {
	g := w.state.groups["g"]
	if g == nil {
		return false
	}
	if g.consumers != nil {
		return g.consumers.Member(id) != nil
	}
	return g.members[id] != nil
}

// current reports whether the coordinator takes a citizen for what it takes itself
// for. A static member of a classic group may be generations behind and not know it.
func (w *town) current(c *citizen) bool {
	g := w.state.groups["g"]
	switch {
	case c.epoch == 0 || !w.isMember(c.id):
		return false
	case g.consumers != nil:
		return !c.classic || g.consumers.Member(c.id).Epoch == c.epoch
	}
	return g.generation == c.epoch
}

// take notes what a citizen has now: nobody else who is a member has any of it.
func (c *citizen) take(partitions []int32) {
	c.owned = partitions
	for _, other := range c.w.citizens {
		if other == c || !c.w.current(other) {
			continue
		}
		for _, p := range partitions {
			if slices.Contains(other.owned, p) {
				c.w.t.Errorf("partition %d was given to %s while %s has it", p, c.name, other.name)
			}
		}
	}
}

// TestTownsSeeEverything holds that the chaos above does what it says: without that
// the property would be an empty one.
func TestTownsSeeEverything(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(20) {
		w := newTown(t, seed)
		for range 80 {
			w.chaos(1)
			if g := w.state.groups["g"]; g != nil {
				seen[g.kind()+" "+g.state()]++
				if g.consumers != nil {
					for _, m := range g.consumers.Members() {
						seen[fmt.Sprintf("member classic=%v state=%d", m.Classic != nil, m.State)]++
					}
				}
			}
		}
	}
	for _, want := range []string{"classic Stable", "classic PreparingRebalance", "consumer Stable", "consumer Reconciling", "consumer Empty",
		"member classic=true state=0", "member classic=true state=2", "member classic=false state=1", "member classic=false state=2"} {
		if seen[want] == 0 {
			t.Errorf("never seen: %s, only %v", want, slices.Sorted(maps.Keys(seen)))
		}
	}
}
