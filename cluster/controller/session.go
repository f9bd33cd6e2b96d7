package controller

import (
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// session is what the leader knows of one registration of a broker.
type session struct {
	epoch   kafka.BrokerEpoch
	seen    time.Time // the last heartbeat, or when this began
	heard   bool      // there was a heartbeat
	applied uint64    // how far the broker is in the control log

	fencedAt uint64 // the index at which it was seen to be fenced; 0: it is in service
	mute     bool   // it was fenced because it did not answer
	back     bool   // and was heard of since

	full bool // its heartbeats say that a log directory has no room

	stopping  bool      // its heartbeats say that it wants to stop
	shutAt    time.Time // not before: the next attempt to move its leaders
	stopAgain bool      // it was drained when it was fenced, and is to be again
	leads     leads

	lost    bool // gossip does not find it
	unsure  bool // it has not been looked at yet
	pinging bool
	pings   int // in a row without an answer
	pingAt  time.Time

	deciding bool // a command about it is under way
	retryAt  time.Time
}

// Heartbeat takes what a broker says of itself and answers it.
func (m *Machine) Heartbeat(now time.Time, h Heartbeat) Answer {
	b, ok := m.image.Broker(h.ID)
	if (!ok || h.Epoch != b.Epoch) && h.Applied > m.image.Index {
		return Answer{Status: Known} // another leads by now, and this node has not noticed
	}
	if !ok || h.Epoch > b.Epoch {
		m.voters.speaks(h.ID)
		return Answer{Status: Unknown}
	}
	if h.Epoch < b.Epoch {
		return Answer{Status: Superseded}
	}
	s := m.sessions[h.ID]
	s.seen, s.heard, s.applied, s.stopping, s.full = now, true, h.Applied, h.Stopping, h.Full
	s.back = b.Fenced
	if !s.pinging {
		s.pings, s.unsure = 0, false
	}
	m.judge(now, h.ID)
	return Answer{Status: Known, Fenced: b.Fenced, Stop: s.stopping && m.mayStop(now, b, s)}
}

// judgeAll looks at every broker.
func (m *Machine) judgeAll(now time.Time) {
	for _, id := range m.order {
		m.judge(now, id)
	}
}

// judge looks at one broker: what is to be decided about it, and whether it is to be
// pinged.
func (m *Machine) judge(now time.Time, id kafka.BrokerID) {
	s := m.sessions[id]
	b, ok := m.image.Broker(id)
	if s == nil || !ok {
		return
	}
	if !s.deciding && !now.Before(s.retryAt) {
		if c, why := m.verdict(now, b, s); c != nil {
			m.decide(id, s, c, why)
		}
	}
	m.maybePing(now, b, s)
}

// Why a broker is fenced.
const (
	whySilent = "no heartbeat came in time"
	whyMute   = "it does not answer"
	whyStops  = "it stops"
)

// verdict is the command that a broker's state asks for, and why; nil: none.
func (m *Machine) verdict(now time.Time, b *meta.Broker, s *session) (c metadata.Command, why string) {
	fence := func(why string) (metadata.Command, string) {
		return &metadata.FenceBroker{ID: b.ID, Epoch: b.Epoch}, why
	}
	silent := now.Sub(s.seen) >= m.config.SessionTimeout
	switch {
	case b.Fenced:
		if silent || !s.heard || s.stopping || s.mute || s.applied < s.fencedAt {
			return nil, ""
		}
		s.stopAgain = b.ShuttingDown
		return &metadata.UnfenceBroker{ID: b.ID, Epoch: b.Epoch}, "it is heard of again"
	case silent:
		return fence(whySilent)
	case s.pings >= PingCount:
		s.mute = true
		return fence(whyMute)
	case s.stopping && b.ShuttingDown && m.mayStop(now, b, s):
		return fence(whyStops) // it is told so, and nobody shall come to it any more
	case (s.stopping || s.stopAgain && !b.ShuttingDown) && !now.Before(s.shutAt):
		// Again and again: a partition may have found another in-sync replica.
		return &metadata.BeginShutdown{ID: b.ID, Epoch: b.Epoch}, "it leads what others could lead"
	case s.heard && s.full != b.Full:
		return &metadata.SetFull{ID: b.ID, Epoch: b.Epoch, Full: s.full}, "it says so"
	}
	return nil, ""
}
