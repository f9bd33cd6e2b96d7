package group

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// TestAnyInterleavingConverges lets clients join, sync, beat, leave, die and lose
// answers in any order, lets time pass and restarts the coordinator from its log.
// When that ends, those who are left share every partition in one generation: none
// has two owners, and nobody is left out.
func TestAnyInterleavingConverges(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		w := newWorld(t, seed)
		w.chaos(60)
		w.calm()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// worldPartitions are what the members of a world share.
const worldPartitions = 7

// world is a group and its clients.
type world struct {
	t       *testing.T
	rand    *rand.Rand
	state   *State
	log     []Record
	now     int64
	clients []*client
	owners  map[[2]int32]string // by generation and partition
	shaky   bool                // appends fail now and then
}

// client is a consumer as its library behaves.
type client struct {
	w          *world
	name       string
	instance   *string
	version    int16
	id         string
	generation int32
	leader     bool
	members    []string
	waits      bool // for an answer
	epoch      int  // of its connection: answers of older ones do not arrive
	dead       bool
	next       func()
	owned      []int32
	stable     bool
}

// ask is a request of a client.
type ask struct {
	c     *client
	epoch int
	done  bool
	then  func(kmsg.Response)
}

// Answer implements Ticket.
func (a *ask) Answer(m kmsg.Response) {
	if a.done {
		a.c.w.t.Errorf("%s was answered twice", a.c.name)
	}
	a.done = true
	if a.epoch != a.c.epoch || a.c.dead {
		return
	}
	a.c.waits = false
	a.then(m)
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 7)), now: 1_000_000, state: New(ruled(), ruledConsumers, counters()), owners: map[[2]int32]string{}}
	w.do(w.state.Loaded(w.now))
	for i := range 2 + w.rand.IntN(4) {
		c := &client{w: w, name: fmt.Sprintf("c%d", i), version: []int16{3, 9}[w.rand.IntN(2)]}
		if w.rand.IntN(3) == 0 {
			instance := c.name
			c.instance = &instance
			c.version = 9
		}
		c.next = c.join
		w.clients = append(w.clients, c)
	}
	return w
}

// do appends, now and then in vain, and answers.
func (w *world) do(out Output) {
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
func (w *world) pass(ms int64) {
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
func (w *world) chaos(n int) {
	w.shaky = true
	defer func() { w.shaky = false }()
	for range n {
		c := w.clients[w.rand.IntN(len(w.clients))]
		switch w.rand.IntN(12) {
		case 0:
			w.pass(w.rand.Int64N(15_000))
		case 1:
			c.epoch++ // the connection breaks: its answer is lost
			c.waits = false
		case 2:
			c.leave()
		case 3:
			c.dead = w.rand.IntN(4) == 0
			c.epoch++
			c.waits = false
		case 4:
			w.restart()
		default:
			c.step()
			w.pass(w.rand.Int64N(500))
		}
	}
}

// restart loads the group from the log; whoever waits has lost its answer.
func (w *world) restart() {
	w.do(w.state.Unload())
	w.state = New(ruled(), ruledConsumers, w.state.ids)
	for _, r := range w.log {
		if err := w.state.Replay(r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	w.do(w.state.Loaded(w.now))
}

// calm lets everybody who lives go on without accidents, and looks at the end.
func (w *world) calm() {
	for range 400 {
		for _, c := range w.clients {
			c.step()
		}
		w.pass(1000)
	}
	owned := map[int32]string{}
	generation, alive := int32(-1), 0
	for _, c := range w.clients {
		if c.dead {
			continue
		}
		alive++
		if !c.stable {
			w.t.Errorf("%s is left out", c.name)
			continue
		}
		if generation == -1 {
			generation = c.generation
		}
		if c.generation != generation {
			w.t.Errorf("%s is in generation %d, others in %d", c.name, c.generation, generation)
		}
		for _, p := range c.owned {
			if other, taken := owned[p]; taken {
				w.t.Errorf("partition %d has the owners %s and %s", p, other, c.name)
			}
			owned[p] = c.name
		}
	}
	if alive > 0 && len(owned) != worldPartitions {
		w.t.Errorf("%d of %d partitions have an owner", len(owned), worldPartitions)
	}
}

// step does what the client would do next, unless it waits.
func (c *client) step() {
	if !c.dead && !c.waits {
		c.next()
	}
}

// request makes a ticket.
func (c *client) request(then func(kmsg.Response)) Caller {
	c.waits = true
	return Caller{Ticket: &ask{c: c, epoch: c.epoch, then: then}, ClientID: c.name, Host: "/h", Version: c.version}
}

func (c *client) join() {
	c.stable, c.owned = false, nil
	q := &kmsg.JoinGroupRequest{Group: "g", MemberID: c.id, InstanceID: c.instance, SessionTimeoutMillis: 10_000,
		RebalanceTimeoutMillis: 20_000, ProtocolType: "consumer", Protocols: []kmsg.JoinGroupRequestProtocol{{Name: "range"}}}
	c.next = c.join
	c.w.do(c.w.state.Join(c.w.now, c.request(func(m kmsg.Response) {
		r := m.(*kmsg.JoinGroupResponse)
		switch kafka.ErrorCode(r.ErrorCode) {
		case kafka.None:
			c.id, c.generation, c.leader, c.members = r.MemberID, r.Generation, r.LeaderID == r.MemberID && !r.SkipAssignment, nil
			for _, x := range r.Members {
				c.members = append(c.members, x.MemberID)
			}
			c.next = c.sync
		case kafka.ErrMemberIDRequired:
			c.id = r.MemberID
		case kafka.ErrUnknownMemberID, kafka.ErrFencedInstanceID:
			c.id = ""
		}
	}), q))
}

func (c *client) sync() {
	q := &kmsg.SyncGroupRequest{Group: "g", MemberID: c.id, InstanceID: c.instance, Generation: c.generation}
	if c.leader {
		for i, id := range c.members {
			var mine []byte
			for p := int32(i); p < worldPartitions; p += int32(len(c.members)) {
				mine = binary.BigEndian.AppendUint32(mine, uint32(p))
			}
			q.GroupAssignment = append(q.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: mine})
		}
	}
	c.next = c.sync // again, if the answer is lost
	c.w.do(c.w.state.Sync(c.w.now, c.request(func(m kmsg.Response) {
		r := m.(*kmsg.SyncGroupResponse)
		if r.ErrorCode != 0 {
			c.failed(r.ErrorCode)
			return
		}
		c.stable, c.next = true, c.beat
		c.owned = nil
		for b := r.MemberAssignment; len(b) >= 4; b = b[4:] {
			p := int32(binary.BigEndian.Uint32(b))
			c.owned = append(c.owned, p)
			c.own(p)
		}
	}), q))
}

// own holds that a partition has one owner in a generation.
func (c *client) own(p int32) {
	at := [2]int32{c.generation, p}
	if other, taken := c.w.owners[at]; taken && other != c.name {
		c.w.t.Errorf("generation %d gave partition %d to %s and %s", c.generation, p, other, c.name)
	}
	c.w.owners[at] = c.name
}

func (c *client) beat() {
	code := c.w.state.Heartbeat(c.w.now, &kmsg.HeartbeatRequest{Group: "g", MemberID: c.id, InstanceID: c.instance, Generation: c.generation})
	if code != kafka.None {
		c.failed(int16(code))
	}
}

// failed makes the client join again, as itself if it still is.
func (c *client) failed(code int16) {
	c.next, c.stable = c.join, false
	known := []kafka.ErrorCode{kafka.ErrRebalanceInProgress, kafka.ErrCoordinatorNotAvailable, kafka.ErrNotCoordinator}
	if !slices.Contains(known, kafka.ErrorCode(code)) {
		c.id = ""
	}
}

func (c *client) leave() {
	if c.waits || c.id == "" {
		return
	}
	m := kmsg.LeaveGroupRequestMember{MemberID: c.id, InstanceID: c.instance}
	by := c.request(func(kmsg.Response) {})
	c.id, c.next, c.stable = "", c.join, false
	c.w.do(c.w.state.Leave(c.w.now, by.Ticket, &kmsg.LeaveGroupRequest{Group: "g", Members: []kmsg.LeaveGroupRequestMember{m}}))
}
