package group

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/scenario"
)

// TestScenarios plays the conversations of testdata: lines that begin with "> " are
// commands, what follows is what the state machine did. Each file is named for the
// rule that it shows. After each command the state is rebuilt from the records and
// compared.
func TestScenarios(t *testing.T) { scenario.Play(t, play) }

// stage is a State with its log, its clock and people who talk to it.
type stage struct {
	t       *testing.T
	state   *State
	now     int64
	refuse  kafka.ErrorCode // what appends answer
	log     []Record
	out     strings.Builder
	members map[string]string // names to member ids
	rules   consumergroup.Rules
	img     *meta.Image
	epochs  map[string]int32 // of members of the consumer protocol, by name
}

// person is a Ticket of a named request.
type person struct {
	s    *stage
	what string
	name string
}

// Answer implements Ticket.
func (p *person) Answer(m kmsg.Response) {
	fmt.Fprintf(&p.s.out, "  %s %s: %s\n", p.name, p.what, p.s.shown(p.name, m))
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, now: 1_000_000, members: map[string]string{}, rules: ruledConsumers(""), img: meta.Empty("c"), epochs: map[string]int32{}}
	s.state = New(ruled(), func(string) consumergroup.Rules { return s.rules }, counters())
	s.do(s.state.Loaded(s.now))
	return s
}

// play runs the commands of a scenario and gives it back with what happened.
func play(t *testing.T, text string) string {
	s := newStage(t)
	return scenario.Steps(text, &s.out, func(words []string) {
		s.run(words)
		s.compare()
	})
}

// words are the options of a command: name=value.
type words map[string]string

func (w words) number(name string, otherwise int) int {
	if v, ok := w[name]; ok {
		n, err := strconv.Atoi(v)
		if err != nil {
			panic(err)
		}
		return n
	}
	return otherwise
}

// run runs one command: verb, who, options.
func (s *stage) run(fields []string) {
	w := words{}
	for _, f := range fields[1:] {
		if k, v, ok := strings.Cut(f, "="); ok {
			w[k] = v
		}
	}
	who := ""
	if len(fields) > 1 {
		who = fields[1]
	}
	switch fields[0] {
	case "join":
		s.do(s.state.Join(s.now, s.by(who, "join", w), s.join(who, w)))
	case "sync":
		s.do(s.state.Sync(s.now, s.by(who, "sync", w), s.sync(who, w)))
	case "beat":
		code := s.state.Heartbeat(s.now, &kmsg.HeartbeatRequest{Group: "g", MemberID: s.id(who, w), InstanceID: instance(w), Generation: int32(w.number("gen", s.generation()))})
		fmt.Fprintf(&s.out, "  %s beat: %s\n", who, name(int16(code)))
	case "leave":
		m := kmsg.LeaveGroupRequestMember{MemberID: s.id(who, w), InstanceID: instance(w)}
		s.do(s.state.Leave(s.now, &person{s, "leave", who}, &kmsg.LeaveGroupRequest{Group: "g", Members: []kmsg.LeaveGroupRequestMember{m}}))
	case "commit":
		s.do(s.state.Commit(s.now, s.by(who, "commit", w), s.commit(who, w)))
	case "delete":
		s.do(s.state.Delete(&person{s, "delete", who}, []string{"g"}))
	case "forget":
		q := &kmsg.OffsetDeleteRequest{Group: "g", Topics: []kmsg.OffsetDeleteRequestTopic{{Topic: w["topic"], Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: int32(w.number("p", 0))}}}}}
		s.do(s.state.DeleteOffsets(&person{s, "forget", who}, q))
	case "drop-topic":
		s.do(s.state.TopicDeleted(who, kafka.NoTopicID))
	case "wait":
		s.wait(int64(w.number("ms", 0)))
	case "append":
		s.refuse = kafka.ErrorCode(w.number("error", 0))
	case "max-size":
		s.state.config.MaxSize = w.number("n", 1)
	case "restart":
		s.state = s.replayed()
		s.state.SetImage(s.img, func() bool { return true })
		s.do(s.state.Loaded(s.now))
	case "unload":
		s.do(s.state.Unload())
	default:
		if !s.runConsumers(fields[0], who, w) {
			s.t.Fatalf("no such command: %q", fields)
		}
	}
	s.show()
}

// do appends and answers until nothing follows.
func (s *stage) do(out Output) {
	for len(out.Records) > 0 {
		if s.refuse == kafka.None {
			s.log = append(s.log, out.Records...)
			fmt.Fprintf(&s.out, "  append %d\n", len(out.Records))
		} else {
			fmt.Fprintf(&s.out, "  append refused\n")
		}
		out = s.state.Appended(s.now, out, s.refuse)
	}
	for _, r := range out.Replies {
		r.To.Answer(r.Message)
	}
}

// wait lets time pass, from deadline to deadline.
func (s *stage) wait(ms int64) {
	end := s.now + ms
	for {
		next, ok := s.state.Next()
		if !ok || next > end {
			break
		}
		s.now = max(s.now, next)
		out, ok := s.state.Expire(s.now)
		if ok {
			s.do(out)
		}
	}
	s.now = end
}

func (s *stage) by(who, what string, w words) Caller {
	return Caller{Ticket: &person{s, what, who}, ClientID: who, Host: "/127.0.0.1", Version: int16(w.number("v", 9))}
}

// id is the member id of a request: what was given to that name, or id=.
func (s *stage) id(who string, w words) string {
	if id, ok := w["id"]; ok {
		if id == "-" {
			return ""
		}
		return id
	}
	return s.members[who]
}

func instance(w words) *string {
	if v, ok := w["instance"]; ok {
		return &v
	}
	return nil
}

func (s *stage) generation() int {
	if g := s.state.groups["g"]; g != nil {
		return int(g.generation)
	}
	return 0
}

func (s *stage) join(who string, w words) *kmsg.JoinGroupRequest {
	q := kmsg.NewPtrJoinGroupRequest()
	q.Group, q.MemberID, q.InstanceID = "g", s.id(who, w), instance(w)
	q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = int32(w.number("session", 10_000)), int32(w.number("rebalance", 60_000))
	q.ProtocolType = "consumer"
	if t, ok := w["type"]; ok {
		q.ProtocolType = t
	}
	protocols := "range"
	if p, ok := w["protocols"]; ok {
		protocols = p
	}
	topic := "t"
	if v, ok := w["topic"]; ok {
		topic = v
	}
	m := kmsg.ConsumerMemberMetadata{Topics: []string{topic}}
	for _, p := range strings.Split(protocols, ",") {
		if p != "" {
			q.Protocols = append(q.Protocols, kmsg.JoinGroupRequestProtocol{Name: p, Metadata: m.AppendTo(nil)})
		}
	}
	return q
}

func (s *stage) sync(who string, w words) *kmsg.SyncGroupRequest {
	q := kmsg.NewPtrSyncGroupRequest()
	q.Group, q.MemberID, q.InstanceID, q.Generation = "g", s.id(who, w), instance(w), int32(w.number("gen", s.generation()))
	if p, ok := w["protocol"]; ok {
		q.Protocol = &p
	}
	for name := range strings.SplitSeq(w["give"], ",") {
		if name != "" {
			q.GroupAssignment = append(q.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: s.members[name], MemberAssignment: []byte("for-" + name)})
		}
	}
	return q
}

func (s *stage) commit(who string, w words) *kmsg.OffsetCommitRequest {
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Version = int16(w.number("v", 9))
	q.Group, q.MemberID, q.InstanceID, q.Generation = "g", s.id(who, w), instance(w), int32(w.number("gen", s.generation()))
	q.RetentionTimeMillis = int64(w.number("keep", -1))
	topic := "t"
	if v, ok := w["topic"]; ok {
		topic = v
	}
	metadata := strings.Repeat("m", w.number("metadata", 0))
	q.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{
		{Partition: int32(w.number("p", 0)), Offset: int64(w.number("at", 0)), LeaderEpoch: -1, Metadata: &metadata}}}}
	return q
}

// name is an error's name.
func name(code int16) string {
	if code == 0 {
		return "ok"
	}
	return kafka.ErrorCode(code).String()
}

// shown is an answer as text. It learns the member ids that are given out.
func (s *stage) shown(who string, m kmsg.Response) string {
	switch r := m.(type) {
	case *kmsg.JoinGroupResponse:
		if r.MemberID != "" {
			s.members[who] = r.MemberID
		}
		if r.ErrorCode != 0 {
			return fmt.Sprintf("%s id=%s", name(r.ErrorCode), r.MemberID)
		}
		var all []string
		for _, x := range r.Members {
			all = append(all, x.MemberID)
		}
		skip := ""
		if r.SkipAssignment {
			skip = " skip-assignment"
		}
		return fmt.Sprintf("ok gen=%d protocol=%s leader=%s id=%s members=%v%s", r.Generation, *r.Protocol, r.LeaderID, r.MemberID, all, skip)
	case *kmsg.SyncGroupResponse:
		return fmt.Sprintf("%s %q", name(r.ErrorCode), r.MemberAssignment)
	case *kmsg.LeaveGroupResponse:
		if r.ErrorCode != 0 {
			return name(r.ErrorCode)
		}
		return name(r.Members[0].ErrorCode)
	case *kmsg.OffsetCommitResponse:
		return name(r.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.DeleteGroupsResponse:
		return name(r.Groups[0].ErrorCode)
	case *kmsg.ConsumerGroupHeartbeatResponse:
		return s.shownBeat(who, r)
	case *kmsg.OffsetDeleteResponse:
		if r.ErrorCode != 0 {
			return name(r.ErrorCode)
		}
		return name(r.Topics[0].Partitions[0].ErrorCode)
	}
	return fmt.Sprintf("%T", m)
}

// show prints the group.
func (s *stage) show() {
	g := s.state.groups["g"]
	if g == nil {
		s.out.WriteString("  = no group\n")
		return
	}
	if g.consumers != nil {
		s.showConsumers(g)
		return
	}
	fmt.Fprintf(&s.out, "  = %s gen=%d members=%d pending=%d offsets=%s\n", g.phase, g.generation, len(g.order), len(g.pending), offsetsOf(g))
}

func offsetsOf(g *Group) string {
	var all []string
	for topic, partitions := range g.offsets {
		for p, o := range partitions {
			all = append(all, fmt.Sprintf("%s-%d:%d", topic, p, o.At))
		}
	}
	slices.Sort(all)
	return "[" + strings.Join(all, " ") + "]"
}

// replayed is a State made of the log alone.
func (s *stage) replayed() *State {
	r := New(ruled(), s.state.rulesOf, s.state.ids)
	for _, rec := range s.log {
		if err := r.Replay(rec.Key, rec.Value); err != nil {
			s.t.Fatalf("replay of our own record: %v", err)
		}
	}
	return r
}

// compare holds what the log says against the live state: the same groups with the
// same offsets, and of a stable or empty group the same generation and members.
func (s *stage) compare() {
	r := s.replayed()
	if _, live := s.state.Len(); live != r.offsets {
		s.t.Errorf("%d offsets are counted, the log has %d", live, r.offsets)
	}
	for id, g := range s.state.groups {
		twin := r.groups[id]
		if twin == nil {
			if g.consumers != nil || g.phase != Empty || g.generation != 0 || len(g.offsets) > 0 { // else no commit was taken yet
				s.t.Errorf("group %s is not in the log", id)
			}
			continue
		}
		if offsetsOf(twin) != offsetsOf(g) {
			s.t.Errorf("the log has the offsets %s, memory %s", offsetsOf(twin), offsetsOf(g))
		}
		if g.consumers != nil {
			s.compareConsumers(g, twin)
			continue
		}
		if g.phase != Stable {
			continue
		}
		if live, logged := membersOf(g), membersOf(twin); live != logged {
			s.t.Errorf("the log has %s, memory %s", logged, live)
		}
	}
	for id := range r.groups {
		if s.state.groups[id] == nil {
			s.t.Errorf("group %s is in the log only", id)
		}
	}
}

func membersOf(g *Group) string {
	var all []string
	for _, m := range g.order {
		all = append(all, fmt.Sprintf("%s=%q", m.id, m.assignment))
	}
	return fmt.Sprint(g.generation, g.leader, all)
}
