package controller

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/scenario"
)

// TestScenarios plays every testdata/*.txt: commands, "----", and what the machine does.
// What it decides is applied to the image, and each change of voters is made, at once,
// unless "hold" says that they hang. -rewrite writes the outputs anew.
func TestScenarios(t *testing.T) { scenario.Play(t, play) }

// play runs a scenario and returns its text with the outputs it has now.
func play(t *testing.T, text string) string {
	s := &stage{t: t, image: meta.Empty("c"), now: time.Unix(1000, 0), begin: time.Unix(1000, 0),
		beats: map[kafka.BrokerID]bool{}, stops: map[kafka.BrokerID]bool{}, full: map[kafka.BrokerID]bool{}, deaf: map[kafka.BrokerID]bool{},
		dead: map[kafka.BrokerID]bool{}, behind: map[kafka.BrokerID]bool{}, voters: map[kafka.BrokerID]bool{}, told: map[kafka.BrokerID]Answer{}}
	return scenario.Blocks(text, &s.out, func(line string) { s.run(strings.Fields(line)) })
}

// stage is a leader and the nodes around it.
type stage struct {
	t          *testing.T
	config     Config
	now, begin time.Time
	image      *meta.Image
	machine    *Machine
	held       bool
	waiting    []Action

	beats  map[kafka.BrokerID]bool // send heartbeats
	stops  map[kafka.BrokerID]bool // and want to stop
	full   map[kafka.BrokerID]bool // and have no room
	behind map[kafka.BrokerID]bool // and lag in the control log
	deaf   map[kafka.BrokerID]bool // do not answer pings
	dead   map[kafka.BrokerID]bool // gossip does not find them
	voters map[kafka.BrokerID]bool // members; true: they vote
	told   map[kafka.BrokerID]Answer

	out strings.Builder
}

func (s *stage) printf(format string, args ...any) {
	at := strconv.FormatFloat(s.now.Sub(s.begin).Seconds(), 'f', 1, 64)
	fmt.Fprintf(&s.out, "%6ss "+format+"\n", append([]any{at}, args...)...)
}

// ids reads broker ids.
func (s *stage) ids(words []string) (ids []kafka.BrokerID) {
	for _, w := range words {
		if n, err := strconv.Atoi(w); err == nil {
			ids = append(ids, kafka.BrokerID(n))
		}
	}
	return ids
}

// value is that of key=value among words.
func value(words []string, key string) string {
	for _, w := range words {
		if v, ok := strings.CutPrefix(w, key+"="); ok {
			return v
		}
	}
	return ""
}

// set puts v for every id.
func set(m map[kafka.BrokerID]bool, ids []kafka.BrokerID, v bool) {
	for _, id := range ids {
		m[id] = v
	}
}

// run runs one command line.
func (s *stage) run(words []string) {
	ids := s.ids(words[1:])
	switch words[0] {
	case "lead": // lead SELF [voters=N] [rebalance=DURATION]: this node begins to lead
		s.config = Config{Self: ids[0], VoterReplaceAfter: time.Minute}
		s.config.Voters, _ = strconv.Atoi(value(words, "voters"))
		s.config.RebalanceInterval, _ = time.ParseDuration(value(words, "rebalance"))
		s.machine, s.waiting = NewMachine(s.config, s.now, s.image), nil
		s.step()
	case "register": // register ID… [rack=R]: they register, send heartbeats and are members
		for _, id := range ids {
			s.apply(&metadata.RegisterBroker{ID: id, Rack: value(words, "rack"), CleanShutdown: true})
			if _, ok := s.voters[id]; !ok {
				s.voters[id] = false
			}
		}
		set(s.beats, ids, true)
		set(s.stops, ids, false)
	case "unregister":
		for _, id := range ids {
			s.apply(&metadata.UnregisterBroker{ID: id})
		}
	case "topic": // topic REPLICAS,…/…: a topic with partitions on these
		var assignment [][]kafka.BrokerID
		for p := range strings.SplitSeq(words[1], "/") {
			assignment = append(assignment, s.ids(strings.Split(p, ",")))
		}
		s.apply(&metadata.CreateTopics{Topics: []metadata.NewTopic{{Name: "t", ID: kafka.TopicID{1}, Assignment: assignment}}})
	case "isr": // isr PARTITION ID…: these are in sync
		t, _ := s.image.Topic("t")
		p := &t.Partitions[ids[0]]
		b, _ := s.image.Broker(p.Leader)
		c := meta.ISRChange{PartitionID: meta.PartitionID{Topic: t.ID, Partition: int32(ids[0])}, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch}
		for _, id := range ids[1:] {
			c.ISR = append(c.ISR, meta.ISRReplica{ID: id, Epoch: -1})
		}
		s.apply(metadata.NewAlterISR(b.ID, b.Epoch, []meta.ISRChange{c}))
	case "vote":
		set(s.voters, ids, true)
	case "silent", "speak": // heartbeats end and begin again
		set(s.beats, ids, words[0] == "speak")
	case "drain": // by somebody's command
		for _, id := range ids {
			b, _ := s.image.Broker(id)
			s.apply(&metadata.BeginShutdown{ID: id, Epoch: b.Epoch})
		}
	case "undrain":
		for _, id := range ids {
			b, _ := s.image.Broker(id)
			s.apply(&metadata.UnfenceBroker{ID: id, Epoch: b.Epoch, Drained: true})
		}
	case "stop": // heartbeats say that they want to stop
		set(s.stops, ids, true)
	case "full", "room": // heartbeats, the next of which comes at once, say that a directory is full, or not
		set(s.full, ids, words[0] == "full")
		for _, id := range ids {
			s.beat(id)
		}
		s.step()
	case "leave": // leave ID…: they can't append, and say so of all that they have
		for _, id := range ids {
			b, _ := s.image.Broker(id)
			t, _ := s.image.Topic("t")
			var all []meta.ISRChange
			for n := range t.Partitions {
				all = append(all, meta.ISRChange{PartitionID: meta.PartitionID{Topic: t.ID, Partition: int32(n)}, Full: true})
			}
			s.apply(metadata.NewAlterISR(id, b.Epoch, all))
		}
	case "deaf", "hear": // pings are not answered, or are
		set(s.deaf, ids, words[0] == "deaf")
	case "lag", "catchup": // how far they are in the control log
		set(s.behind, ids, words[0] == "lag")
	case "lost", "found": // by gossip
		set(s.dead, ids, words[0] == "lost")
		s.gossip()
	case "dead": // all at once: a process is killed, and gossip notices
		set(s.beats, ids, false)
		set(s.deaf, ids, true)
		set(s.dead, ids, true)
		s.gossip()
	case "hold", "go": // decisions hang, and are made
		s.held = words[0] == "hold"
		s.step()
	case "fail": // decisions that hang fail
		waiting := s.waiting
		s.waiting = nil
		for _, a := range waiting {
			s.end(a, errors.New("no majority"))
		}
		s.step()
	case "stall": // stall DURATION: this node stands still
		d, _ := time.ParseDuration(words[1])
		s.now = s.now.Add(d)
	case "wait": // wait DURATION: time passes, heartbeats come
		d, _ := time.ParseDuration(words[1])
		for end := s.now.Add(d); s.now.Before(end); {
			s.now = s.now.Add(100 * time.Millisecond)
			s.pass()
		}
	case "show":
		s.show()
	default:
		s.t.Fatalf("unknown command %q", words[0])
	}
}

// pass is what happens in a tenth of a second.
func (s *stage) pass() {
	since := s.now.Sub(s.begin)
	for _, id := range slices.Sorted(maps.Keys(s.beats)) {
		every := 2 * time.Second
		if s.stops[id] {
			every = 100 * time.Millisecond
		}
		if s.beats[id] && since%every == 0 {
			s.beat(id)
		}
	}
	if since%TickInterval == 0 {
		s.machine.Members(s.now, s.members())
	}
	if !s.now.Before(s.machine.Next()) || since%TickInterval == 0 {
		s.machine.Tick(s.now)
	}
	s.step()
}

func (s *stage) members() (all []Member) {
	for id, votes := range s.voters {
		all = append(all, Member{ID: id, Voter: votes, Answers: !s.deaf[id]})
	}
	return all
}

// beat is a heartbeat of a broker; what is new in the answer is shown.
func (s *stage) beat(id kafka.BrokerID) {
	b, ok := s.image.Broker(id)
	h := Heartbeat{ID: id, Applied: s.image.Index, Stopping: s.stops[id], Full: s.full[id]}
	if ok {
		h.Epoch = b.Epoch
	}
	if s.behind[id] {
		h.Applied = 0
	}
	a := s.machine.Heartbeat(s.now, h)
	if a != s.told[id] {
		s.told[id] = a
		s.printf("%d is told status %d fenced %v stop %v", id, a.Status, a.Fenced, a.Stop)
	}
	if a.Stop {
		s.beats[id] = false
	}
}

func (s *stage) gossip() {
	var ids []kafka.BrokerID
	for id, dead := range s.dead {
		if dead {
			ids = append(ids, id)
		}
	}
	s.machine.Lost(s.now, ids)
	s.step()
}

// apply makes a decision.
func (s *stage) apply(c metadata.Command) error {
	next, r := metadata.Apply(s.image, s.image.Index+1, c)
	s.image = next
	for _, t := range r.Topics {
		if t.Err != nil {
			s.t.Fatalf("topic: %v", t.Err)
		}
	}
	for _, i := range r.ISR {
		if i.Err != nil {
			s.t.Fatalf("ISR: %v", i.Err)
		}
	}
	if s.machine != nil {
		s.machine.Image(s.now, s.image)
	}
	if r.Err != nil {
		return r.Err
	}
	return nil
}

// step does what the machine wants until it wants nothing more.
func (s *stage) step() {
	for {
		if !s.held {
			waiting := s.waiting
			s.waiting = nil
			for _, a := range waiting {
				s.end(a, nil)
			}
		}
		actions := s.machine.Ready()
		if len(actions) == 0 {
			return
		}
		for _, a := range actions {
			p, isPing := a.(Ping)
			switch {
			case isPing:
				s.printf("%v: answered %v", a, !s.deaf[p.ID])
				s.machine.Pong(s.now, p.ID, !s.deaf[p.ID])
			case s.held:
				s.printf("%v: hangs", a)
				s.waiting = append(s.waiting, a)
			default:
				s.end(a, nil)
			}
		}
	}
}

// end ends an action, with err or as it should.
func (s *stage) end(a Action, err error) {
	switch a := a.(type) {
	case Decide:
		if err == nil {
			err = s.apply(a.Command)
		}
		s.printf("%v%s", a, failure(err))
		s.machine.Decided(s.now, a, err)
	case VoterChange:
		if err == nil {
			if s.voters[a.ID] = a.Kind == Promote; a.Kind == Remove {
				delete(s.voters, a.ID)
			}
		}
		s.printf("%v%s", a, failure(err))
		s.machine.Changed(s.now, a, err)
	}
}

func failure(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// show prints brokers, partitions and voters.
func (s *stage) show() {
	brokers := slices.SortedFunc(s.image.Brokers(), func(a, b *meta.Broker) int { return cmp.Compare(a.ID, b.ID) })
	for _, b := range brokers {
		state := "active"
		if b.Fenced {
			state = "fenced"
		} else if b.ShuttingDown {
			state = "shutting down"
		}
		if b.Full {
			state += ", full"
		}
		fmt.Fprintf(&s.out, "broker %d: %s\n", b.ID, state)
	}
	if t, ok := s.image.Topic("t"); ok {
		for n, p := range t.Partitions {
			fmt.Fprintf(&s.out, "partition %d: leader %d isr %v\n", n, p.Leader, p.ISR)
		}
	}
	var votes []kafka.BrokerID
	for id, v := range s.voters {
		if v {
			votes = append(votes, id)
		}
	}
	slices.Sort(votes)
	fmt.Fprintf(&s.out, "voters %v of %d members\n", votes, len(s.voters))
}
