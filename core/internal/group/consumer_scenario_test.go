package group

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// runConsumers runs the commands of the consumer protocol.
//
//	hb WHO      a heartbeat; join=T,U joins with a subscription, epoch=N, topics=T,U, regex=R,
//	            owned=0,1 (of topic t; - for none), instance=I, assignor=A
//	topic NAME  makes it have n=N partitions, or go
//	rules       session=, max=, pause=, upgrade=no, downgrade=no
//	resolve     answers what was asked about expressions; resolve unknown: that nobody knows
func (s *stage) runConsumers(verb, who string, w words) bool {
	switch verb {
	case "hb":
		q := s.heartbeat(who, w)
		by := s.by(who, "hb", w)
		r := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		if s.state.ConsumerBeat(s.now, &by, q, r) {
			by.Ticket.Answer(r)
			break
		}
		s.do(s.state.ConsumerHeartbeat(s.now, by, q))
	case "topic":
		e := s.img.Edit(s.img.Index + 1)
		if n := w.number("n", 0); n > 0 {
			e.PutTopic(&meta.Topic{Name: who, ID: kafka.TopicID{who[len(who)-1]}, Partitions: make([]meta.Partition, n)})
		} else {
			e.RemoveTopic(who)
		}
		s.img = e.Image()
		s.state.SetImage(s.img, func() bool { return true })
	case "rules":
		s.rules.SessionMS = int64(w.number("session", int(s.rules.SessionMS)))
		s.rules.MaxSize = w.number("max", s.rules.MaxSize)
		s.rules.AssignmentIntervalMS = int64(w.number("pause", int(s.rules.AssignmentIntervalMS)))
		s.rules.Migration.Upgrade, s.rules.Migration.Downgrade = w["upgrade"] != "no", w["downgrade"] != "no"
	case "resolve":
		for _, l := range s.state.TakeLookups() {
			if who == "unknown" {
				s.state.Unresolved(l.Group)
				continue
			}
			found, _ := l.Find(s.img, s.now, func() bool { return false })
			s.do(s.state.Resolved(s.now, l.Group, found))
		}
	default:
		return false
	}
	return true
}

func (s *stage) heartbeat(who string, w words) *kmsg.ConsumerGroupHeartbeatRequest {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Group, q.MemberID, q.InstanceID, q.MemberEpoch = "g", who, instance(w), int32(w.number("epoch", int(s.epochs[who])))
	list := func(name string) []string {
		if w[name] == "" {
			return nil
		}
		return strings.Split(w[name], ",")
	}
	if q.SubscribedTopicNames = list("topics"); w["join"] != "" {
		q.MemberEpoch, q.SubscribedTopicNames, q.Topics = 0, list("join"), []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		q.RebalanceTimeoutMillis = 20_000
	}
	if regex, ok := w["regex"]; ok {
		q.SubscribedTopicRegex = &regex
	}
	if a, ok := w["assignor"]; ok {
		q.ServerAssignor = &a
	}
	if owned, ok := w["owned"]; ok {
		q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		if owned != "-" {
			t := kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: [16]byte{'t'}}
			for _, p := range list("owned") {
				n, err := strconv.Atoi(p)
				if err != nil {
					s.t.Fatal(err)
				}
				t.Partitions = append(t.Partitions, int32(n))
			}
			q.Topics = append(q.Topics, t)
		}
	}
	return q
}

// shownBeat is an answer to a heartbeat as text.
func (s *stage) shownBeat(who string, r *kmsg.ConsumerGroupHeartbeatResponse) string {
	if r.ErrorCode != 0 {
		return name(r.ErrorCode)
	}
	s.epochs[who] = r.MemberEpoch
	text := fmt.Sprintf("ok epoch=%d", r.MemberEpoch)
	if r.Assignment != nil {
		text += " has"
		for _, t := range r.Assignment.Topics {
			text += fmt.Sprintf(" %c%v", t.TopicID[0], t.Partitions)
		}
	}
	return text
}

// showConsumers prints a group of the consumer protocol.
func (s *stage) showConsumers(g *Group) {
	d := s.state.DescribeConsumers(s.now, g.id)
	fmt.Fprintf(&s.out, "  = consumer %s epoch=%d target=%d offsets=%s\n", d.State, d.Epoch, d.AssignmentEpoch, offsetsOf(g))
	for _, m := range d.Members {
		fmt.Fprintf(&s.out, "      %s epoch=%d has%s wants%s\n", m.MemberID, m.MemberEpoch, shownAssignment(m.Assignment), shownAssignment(m.TargetAssignment))
	}
}

func shownAssignment(a kmsg.Assignment) string {
	text := ""
	for _, t := range a.TopicPartitions {
		text += fmt.Sprintf(" %s%v", t.Topic, t.Partitions)
	}
	return text
}

// compareConsumers holds what the log says of a group against the live one.
func (s *stage) compareConsumers(live, logged *Group) {
	if logged.consumers == nil {
		s.t.Errorf("the log says that %s is of the classic protocol", live.id)
		return
	}
	a, b := live.consumers.Describe(&s.rules, s.img), logged.consumers.Describe(&s.rules, s.img)
	if !reflect.DeepEqual(a, b) {
		s.t.Errorf("the log has %+v, memory %+v", b, a)
	}
}
