package group

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// supports reports whether a member with these protocols fits: one of them is known
// to all members.
func (g *Group) supports(protocolType string, protocols []kmsg.JoinGroupRequestProtocol) bool {
	if g.phase == Empty {
		return protocolType != "" && len(protocols) > 0
	}
	if g.protocolType == "" || g.protocolType != protocolType {
		return false
	}
	for i := range protocols {
		if g.supported[protocols[i].Name] == len(g.order) {
			return true
		}
	}
	return false
}

// vote chooses a protocol: each member votes for the first of its own that all
// members know. Among equals the order of Kafka's hash table decides, and in one
// bucket of it who was voted for first.
func (g *Group) vote() string {
	votes := map[string]int{}
	best := ""
	for _, m := range g.order {
		for i := range m.protocols {
			name := m.protocols[i].Name
			if g.supported[name] != len(g.order) {
				continue
			}
			votes[name]++
			break
		}
	}
	for _, m := range g.order {
		for i := range m.protocols {
			name := m.protocols[i].Name
			if votes[name] > votes[best] || votes[name] == votes[best] && bucket(name) < bucket(best) {
				best = name
			}
		}
	}
	return best
}

// readTopics finds out what the members subscribe to, if they are consumers.
func (g *Group) readTopics() {
	g.topics, g.topicsKnown = nil, false
	if !g.isConsumers() {
		return
	}
	topics := map[string]struct{}{}
	if len(g.order) == 0 {
		g.topics, g.topicsKnown = topics, true
		return
	}
	if g.protocol == nil {
		return
	}
	for _, m := range g.order {
		if !subscription(m.metadata(g.protocol), topics) {
			return
		}
	}
	g.topics, g.topicsKnown = topics, true
}

// subscription reads the topics of a consumer's metadata: what all versions of
// ConsumerProtocolSubscription begin with. It reports whether it could.
func subscription(b []byte, into map[string]struct{}) bool {
	if len(b) < 6 {
		return false
	}
	n := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	if int(n) > len(b)/2 {
		return false
	}
	for range n {
		if len(b) < 2 {
			return false
		}
		size := int(int16(binary.BigEndian.Uint16(b)))
		if b = b[2:]; size < 0 || size > len(b) {
			return false
		}
		into[string(b[:size])] = struct{}{}
		b = b[size:]
	}
	return true
}
