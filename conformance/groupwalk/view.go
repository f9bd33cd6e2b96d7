package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// view is one group as one broker shows it: the ids that the broker made and where the
// members stand. Only the walk's goroutine uses it.
type view struct {
	side  *side
	group string
	slots [slots]slot
	calls []*call // sent and not shown in the trace yet
	trace []string
}

// slot is one member, or one after another: a client that starts anew gets a new id.
type slot struct {
	ids        []string // oldest first
	generation int32
	protocol   string
	followers  []string // ids of all members, when it leads

	// Of the consumer protocol.
	consumerID         string
	made               int // ids
	epoch, epochBefore int32
	assigned           []kmsg.ConsumerGroupHeartbeatRequestTopic
}

func newView(s *side, group string) *view {
	v := &view{side: s, group: group}
	for i := range v.slots {
		v.slots[i].generation = -1
	}
	return v
}

// id is the member id that an operation means: the slot's current one, the one
// before, that of the next slot, or none.
func (v *view) id(o op) string {
	if o.args["by"] == "consumer" {
		return v.slots[o.slot].consumerID
	}
	ids := v.slots[o.slot].ids
	switch o.args["id"] {
	case "none":
		return ""
	case "next":
		ids = v.slots[(o.slot+1)%slots].ids
	case "old":
		if len(ids) < 2 {
			return "nobody"
		}
		return ids[len(ids)-2]
	}
	if len(ids) == 0 {
		return ""
	}
	return ids[len(ids)-1]
}

// generation is the generation that an operation means.
func (v *view) generation(o op) int32 {
	if o.args["by"] == "consumer" {
		return v.slots[o.slot].epoch + int32(o.number("gen"))
	}
	if o.args["gen"] == "none" {
		return -1
	}
	return v.slots[o.slot].generation + int32(o.number("gen"))
}

// symbol names a member id: s1.2 is the second id of slot 1.
func (v *view) symbol(id string) string {
	for i, s := range v.slots {
		if n := slices.Index(s.ids, id); n >= 0 {
			return fmt.Sprintf("s%d.%d", i, n+1)
		}
	}
	return id
}

// clientID is what the member in a slot calls itself; Kafka begins member ids with it.
func clientID(slot int) string { return fmt.Sprint("c", slot) }

// madeID is a member id that a broker made: with the name of the client or instance
// in front, or alone in a group of the consumer protocol.
var madeID = regexp.MustCompile(`^((c|i)[0-9]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[-_0-9a-zA-Z]{22})$`)

// symbols names what a broker made in a text: a member id, or the group's name within
// it, so that walks of the same script under other names show the same.
func (v *view) symbols(text string) string {
	if name := v.symbol(text); name != text {
		return name
	}
	if madeID.MatchString(text) {
		return "?" // of a member whose join is not answered yet
	}
	return strings.ReplaceAll(text, v.group, "$group")
}

// waits says whether the operation would repeat a parked request of the same member.
// Kafka forgets such a request and never answers it, Mortise ends it with
// REBALANCE_IN_PROGRESS. No client sees that: it waits, or it has hung up.
func (v *view) waits(o op) bool {
	id := v.id(o)
	return id != "" && slices.ContainsFunc(v.calls, func(c *call) bool { return c.op.do == o.do && c.id == id && !c.done() })
}

// send starts an operation.
func (v *view) send(number int, o op, arrivals *atomic.Int64) {
	build, ok := requests[o.do]
	if !ok {
		return
	}
	req := build(v, o)
	req.SetVersion(o.version)
	c := &call{number: number, op: o, id: v.id(o), ended: make(chan struct{})}
	v.calls = append(v.calls, c)
	v.side.start(c, req, arrivals)
}

// note adds a line to the trace.
func (v *view) note(line string) { v.trace = append(v.trace, line) }

// collect moves what was answered since into the trace. Ids are learned from all
// answers before any is shown: an answer may name a member that another introduces.
func (v *view) collect() {
	var ready []*call
	v.calls = slices.DeleteFunc(v.calls, func(c *call) bool {
		if c.done() {
			ready = append(ready, c)
			return true
		}
		return false
	})
	slices.SortFunc(ready, func(a, b *call) int { return a.number - b.number })
	for _, c := range ready {
		v.learn(c)
	}
	for _, c := range ready {
		v.note(fmt.Sprintf("< %d %s", c.number, v.show(c)))
	}
}

// learn takes what later operations need from an answer.
func (v *view) learn(c *call) {
	if r, ok := c.answer.(*kmsg.ConsumerGroupHeartbeatResponse); ok {
		v.slots[c.op.slot].learnConsumer(r)
	}
	r, ok := c.answer.(*kmsg.JoinGroupResponse)
	if !ok || r.MemberID == "" || r.ErrorCode != 0 && r.ErrorCode != errMemberIDRequired {
		return
	}
	s := &v.slots[c.op.slot]
	if !slices.Contains(s.ids, r.MemberID) {
		s.ids = append(s.ids, r.MemberID)
	}
	if r.ErrorCode != 0 {
		return
	}
	s.generation, s.followers = r.Generation, nil
	if r.Protocol != nil {
		s.protocol = *r.Protocol
	}
	for _, m := range r.Members {
		s.followers = append(s.followers, m.MemberID)
	}
}

// errMemberIDRequired is MEMBER_ID_REQUIRED (KIP-394).
const errMemberIDRequired = 79

// show is an answer as text without what brokers choose.
func (v *view) show(c *call) string {
	if c.failed != nil {
		return "closed"
	}
	r := renderer{keep: func(group string) bool { return group == v.group }, symbols: v.symbols, topics: v.side.topics}
	return r.render(c.answer)
}
