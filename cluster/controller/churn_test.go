package controller

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/seeded"
)

// churn is nodes that come and go, a model of raft's configuration, and the machine of
// who leads. Decisions are made at once; a change of voters takes its time, and may fail,
// or be done without anybody knowing.
type churn struct {
	t       *rapid.T
	now     time.Time
	image   *meta.Image
	machine *Machine
	leader  kafka.BrokerID
	alive   map[kafka.BrokerID]bool // every node that there ever was, but those that left
	members map[kafka.BrokerID]bool // raft's configuration; true: it votes
	asked   *VoterChange            // under way
	seconds int
}

// churnMost is how many nodes there may be.
const churnMost = 7

func newChurn(t *rapid.T) *churn {
	c := &churn{t: t, now: time.Unix(1000, 0), image: meta.Empty("c"), leader: 1, alive: map[kafka.BrokerID]bool{}, members: map[kafka.BrokerID]bool{1: true}}
	c.join(1)
	c.lead(1)
	return c
}

// join has a node come, or come back.
func (c *churn) join(id kafka.BrokerID) {
	c.alive[id] = true
	if _, known := c.image.Broker(id); !known {
		c.decide(&metadata.RegisterBroker{ID: id, CleanShutdown: true})
	}
	if _, member := c.members[id]; !member {
		c.members[id] = false
	}
}

// decide makes a decision.
func (c *churn) decide(cmd metadata.Command) {
	c.image, _ = metadata.Apply(c.image, c.image.Index+1, cmd)
	if c.machine != nil {
		c.machine.Image(c.now, c.image)
	}
}

// lead begins a term of a node. What was under way is done or not.
func (c *churn) lead(id kafka.BrokerID) {
	if c.asked != nil && rapid.Bool().Draw(c.t, "done by the next leader") {
		c.apply(*c.asked)
	}
	c.asked, c.leader = nil, id
	c.machine = NewMachine(Config{Self: id, VoterReplaceAfter: 10 * time.Second}, c.now, c.image)
	c.act()
}

// ids are nodes in order.
func ids(of map[kafka.BrokerID]bool, wanted func(kafka.BrokerID) bool) []kafka.BrokerID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(of)), func(id kafka.BrokerID) bool { return !wanted(id) })
}

// votes are the voters, and those of them that live.
func (c *churn) votes() (voters, live int) {
	for id, votes := range c.members {
		if votes {
			voters++
			if c.alive[id] {
				live++
			}
		}
	}
	return voters, live
}

// second is one of time: heartbeats come, and the machine acts.
func (c *churn) second() {
	c.now = c.now.Add(time.Second)
	c.seconds++
	var dead []kafka.BrokerID
	for _, id := range ids(c.alive, func(kafka.BrokerID) bool { return true }) {
		switch b, known := c.image.Broker(id); {
		case !c.alive[id]:
			dead = append(dead, id)
		case !known:
			c.machine.Heartbeat(c.now, Heartbeat{ID: id, Epoch: 1, Applied: c.image.Index})
			c.join(id) // as it is told to
		case c.seconds%2 == 0:
			c.machine.Heartbeat(c.now, Heartbeat{ID: id, Epoch: b.Epoch, Applied: c.image.Index})
		}
		c.act()
	}
	var members []Member
	for id, votes := range c.members {
		members = append(members, Member{ID: id, Voter: votes, Answers: c.alive[id]})
	}
	c.machine.Lost(c.now, dead)
	c.machine.Members(c.now, members)
	c.machine.Tick(c.now)
	c.act()
}

// act does what the machine wants.
func (c *churn) act() {
	for all := c.machine.Ready(); len(all) > 0; all = c.machine.Ready() {
		for _, a := range all {
			switch a := a.(type) {
			case Decide:
				c.decide(a.Command)
				c.machine.Decided(c.now, a, nil)
			case Ping:
				c.machine.Pong(c.now, a.ID, c.alive[a.ID])
			case VoterChange:
				c.ask(a)
			}
		}
	}
}

// ask begins a change of the configuration.
func (c *churn) ask(a VoterChange) {
	votes, member := c.members[a.ID]
	if c.asked != nil || !member || votes == (a.Kind != Demote) {
		c.t.Fatalf("%v: %v is under way, the members are %v", a, c.asked, c.members)
	}
	c.asked = &a
}

// apply makes a change of the configuration. As raft makes it, it counts from then on.
func (c *churn) apply(a VoterChange) {
	if a.Kind == Remove {
		delete(c.members, a.ID)
	} else {
		c.members[a.ID] = a.Kind == Promote
	}
	if voters, live := c.votes(); live < voters/2+1 {
		c.t.Fatalf("%v: of %d voters %d live: nobody can decide; members %v, alive %v", a, voters, live, c.members, c.alive)
	}
}

// end ends what is under way: it is done, or not, and who asked is told so or hears
// nothing.
func (c *churn) end(done, heard bool) {
	a := c.asked
	if c.asked = nil; a == nil {
		return
	}
	if a.ID == c.leader { // raft's leader hands on first
		others := ids(c.members, func(id kafka.BrokerID) bool { return c.members[id] && c.alive[id] && id != a.ID })
		if len(others) > 0 {
			c.lead(others[0])
		}
		return
	}
	var err error
	if !done || a.Kind == Promote && !c.alive[a.ID] {
		err = errors.New("not agreed on")
	} else {
		c.apply(*a)
	}
	if !heard {
		err = errors.New("the time is over")
	}
	c.machine.Changed(c.now, *a, err)
	c.act()
}

// trouble is something that happens to the cluster. Who fails does so while everything is
// known and in order, and leaves a majority: what is lost then is lost by a change.
func (c *churn) trouble() {
	t := c.t
	id := kafka.BrokerID(rapid.IntRange(1, churnMost).Draw(t, "node"))
	switch rapid.IntRange(0, 4).Draw(t, "trouble") {
	case 0:
		c.join(id)
	case 1, 2:
		if c.mayFail(id) {
			c.alive[id] = false
			if id == c.leader {
				c.lead(ids(c.members, func(id kafka.BrokerID) bool { return c.members[id] && c.alive[id] })[0])
			}
		}
	case 3: // for good, or by mistake
		if alive, known := c.alive[id]; known && id != c.leader {
			c.decide(&metadata.UnregisterBroker{ID: id})
			if !alive {
				delete(c.alive, id)
			}
		}
	case 4: // another leads
		if c.members[id] && c.alive[id] {
			c.lead(id)
		}
	}
	c.act()
}

// mayFail says whether the failure of a node is one that the cluster must live with.
func (c *churn) mayFail(id kafka.BrokerID) bool {
	voters, live := c.votes()
	if c.members[id] {
		live--
	}
	if !c.alive[id] || c.asked != nil || voters%2 == 0 || live < voters/2+1 {
		return false
	}
	for b := range c.image.Brokers() { // everybody who is down is known to be
		if b.Fenced == c.alive[b.ID] {
			return false
		}
	}
	return true
}

// A node that fails never costs the majority because of a change that the leader made,
// and in the end the right number votes, all alive.
func TestChangesOfVotersKeepTheMajority(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		c := newChurn(rt)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			c.trouble()
			for range rapid.IntRange(0, 15).Draw(rt, "seconds") {
				c.second()
				if c.asked != nil && rapid.Bool().Draw(rt, "ends") {
					c.end(rapid.IntRange(0, 4).Draw(rt, "done") > 0, rapid.IntRange(0, 4).Draw(rt, "heard") > 0)
				}
			}
		}
		for id := range c.alive {
			c.join(id)
		}
		for range 120 {
			c.second()
			c.end(true, true)
		}
		voters, live := c.votes()
		if want := min(5, odd(c.image.BrokerCount())); voters != want || live != want {
			rt.Fatalf("%d voters, %d alive, want %d: members %v, alive %v", voters, live, want, c.members, c.alive)
		}
	})
}
