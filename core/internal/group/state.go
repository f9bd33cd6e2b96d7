package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Config are the broker's rules for groups. Times are milliseconds.
type Config struct {
	MaxSize          int   // group.max.size
	InitialDelayMS   int64 // group.initial.rebalance.delay.ms
	RetentionMS      int64 // offsets.retention.minutes
	CheckIntervalMS  int64 // offsets.retention.check.interval.ms
	MetadataMaxChars int   // offset.metadata.max.bytes, in UTF-16 units as Kafka counts
}

// newMemberJoinMS is how long a new member may wait in its first JoinGroup: it
// can't send heartbeats yet.
const newMemberJoinMS = 5 * 60 * 1000

// Ticket stands for a request that waits. The state machine keeps it, gives it back
// in a Reply and never answers it itself.
type Ticket interface {
	// Answer sends the answer, once.
	Answer(kmsg.Response)
}

// Caller is who sends a request.
type Caller struct {
	Ticket   Ticket
	ClientID string
	Host     string // as Kafka writes it: /127.0.0.1
	Version  int16  // of the request

	May consumergroup.Permission // of the sender; nil: it may be told of all topics
}

// Record is one record to append. A nil Value deletes.
type Record struct {
	Key, Value []byte
}

// Reply answers a request. Its message is built for any version.
type Reply struct {
	To      Ticket
	Message kmsg.Response
}

// Output is what an operation wants done. If there are Records, they are to be
// appended as one batch and the outcome told to State.Appended, which gives the
// Replies to send; else the Replies can be sent as they are.
type Output struct {
	Records []Record
	Replies []Reply

	applied  func(now int64, out *Output)                       // the records are in the log
	reverted func(now int64, code kafka.ErrorCode, out *Output) // they are not
}

// reply adds an answer.
func (o *Output) reply(to Ticket, m kmsg.Response) {
	o.Replies = append(o.Replies, Reply{To: to, Message: m})
}

// State is all groups of one partition of __consumer_offsets.
type State struct {
	config  Config
	rulesOf func(group string) consumergroup.Rules
	ids     IDs

	groups  map[string]*Group
	topics  map[string]int // how many groups have offsets of a topic
	offsets int            // of all groups
	timers  deadlines
	sweep   timer // offset expiration

	image     *meta.Image
	newTopics uint64   // index of the last image with topics that were not there before
	lookups   []Lookup // not taken yet

	scratch consumergroup.Env // of the operation that runs
	rules   consumergroup.Rules
}

// IDs make random ids.
type IDs struct {
	UUID   func() string // the text of a UUID, which ids of classic members end with
	Member func() string // an id of a member of the consumer protocol
}

// New makes a State without groups. rules gives those of one group of the consumer
// protocol; it is asked for each heartbeat.
func New(c Config, rules func(group string) consumergroup.Rules, ids IDs) *State {
	s := &State{config: c, rulesOf: rules, ids: ids, groups: map[string]*Group{}, topics: map[string]int{}, image: meta.Empty("")}
	s.sweep.kind = sweepTimer
	return s
}

// Configure replaces the rules. Deadlines that are set stay as they are.
func (s *State) Configure(c Config) { s.config = c }

// Len is the number of groups, and of the offsets that they have committed.
func (s *State) Len() (groups, offsets int) { return len(s.groups), s.offsets }

// Loaded begins deadlines after the last Replay: every member has its session
// timeout from now on.
func (s *State) Loaded(now int64) (out Output) {
	for _, g := range s.groups {
		if g.consumers != nil {
			s.watchLoaded(g, now)
		}
		for _, m := range g.order {
			s.timers.set(&m.session, now+int64(m.sessionMS))
		}
		if len(g.order) > s.config.MaxSize {
			s.prepareRebalance(g, now, &out)
		}
	}
	s.timers.set(&s.sweep, now+s.config.CheckIntervalMS)
	return out
}

// Appended takes the outcome of appending the records of out (None: they are in
// the log) and returns what follows from it.
func (s *State) Appended(now int64, out Output, code kafka.ErrorCode) Output {
	next := Output{Replies: out.Replies}
	if code == kafka.None {
		if out.applied != nil {
			out.applied(now, &next)
		}
		return next
	}
	code = clientCode(code)
	for i := range next.Replies {
		next.Replies[i].Message = Refusal(next.Replies[i].Message, code)
	}
	if out.reverted != nil {
		out.reverted(now, code, &next)
	}
	return next
}

// Unload answers everything that waits with NOT_COORDINATOR: the partition is
// another broker's now. The State must not be used afterwards.
func (s *State) Unload() (out Output) {
	for _, g := range s.groups {
		for _, m := range g.order {
			s.answerJoin(g, m, joinRefusal(m.id, kafka.ErrNotCoordinator), &out)
			s.answerSync(m, syncRefusal(kafka.ErrNotCoordinator), &out)
		}
		g.turn(Dead, 0)
	}
	return out
}

// clientCode is what clients of a coordinator are told of an append that failed, as
// in Kafka: go and look for the coordinator again, or try again.
func clientCode(code kafka.ErrorCode) kafka.ErrorCode {
	switch code {
	case kafka.ErrUnknownTopicOrPartition, kafka.ErrNotEnoughReplicas, kafka.ErrRequestTimedOut:
		return kafka.ErrCoordinatorNotAvailable
	case kafka.ErrNotLeaderOrFollower, kafka.ErrKafkaStorageError:
		return kafka.ErrNotCoordinator
	case kafka.ErrMessageTooLarge, kafka.ErrRecordListTooLarge:
		return kafka.ErrUnknownServerError
	}
	return code
}

// ensure finds a group or makes one. Caller undoes a new one that the log refuses.
func (s *State) ensure(id string, now int64) (g *Group, made bool) {
	if g := s.groups[id]; g != nil {
		return g, false
	}
	g = newGroup(id, now)
	s.groups[id] = g
	return g, true
}

// drop forgets a group with its deadlines and offsets. Nobody may wait in it.
func (s *State) drop(g *Group) {
	s.cancelAll(g)
	for topic, partitions := range g.offsets {
		s.offsets -= len(partitions)
		s.releaseTopic(topic)
	}
	g.turn(Dead, g.since)
	delete(s.groups, g.id)
}

// cancelAll cancels every deadline of a group.
func (s *State) cancelAll(g *Group) {
	for _, m := range g.order {
		s.timers.cancel(&m.session)
	}
	for _, p := range g.pending {
		s.timers.cancel(p)
	}
	for id := range g.watches {
		s.unwatch(g, id)
	}
	s.timers.cancel(&g.joinTimer)
	s.timers.cancel(&g.syncTimer)
}
