package controller

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Lost takes the nodes that gossip does not find at present, in any order.
func (m *Machine) Lost(now time.Time, ids []kafka.BrokerID) {
	for _, id := range m.order {
		m.sessions[id].lost = slices.Contains(ids, id)
	}
	m.judgeAll(now)
}

// maybePing pings a broker that there is doubt about: one that gossip has lost or that
// nobody has looked at, and one that was fenced because it did not answer and is heard
// of again.
func (m *Machine) maybePing(now time.Time, b *meta.Broker, s *session) {
	doubt := s.lost || s.unsure
	if b.Fenced {
		doubt = s.mute && s.back && !s.stopping
	}
	if !doubt || s.pinging || s.deciding || b.ID == m.config.Self || now.Before(s.pingAt) {
		return
	}
	s.pinging = true
	m.actions = append(m.actions, Ping{ID: b.ID})
}

// Pong ends a Ping: whether it was answered.
func (m *Machine) Pong(now time.Time, id kafka.BrokerID, answered bool) {
	s := m.sessions[id]
	if s == nil || !s.pinging {
		return
	}
	s.pinging, s.back = false, false
	if answered {
		s.pings, s.unsure, s.mute = 0, false, false
		s.pingAt = now.Add(pingPause)
	} else if s.pings++; s.pings >= PingCount {
		s.unsure = false
		s.pingAt = now.Add(pingPause)
	}
	m.judge(now, id)
}
