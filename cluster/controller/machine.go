package controller

import (
	"slices"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Machine decides what the leader does about brokers and voters. See the package's
// comment. It belongs to one goroutine and to one term of leadership.
//
// Whoever runs it calls Image, Members and Lost when those change, Tick at least every
// TickInterval, and takes the Actions after each call.
type Machine struct {
	config   Config
	image    *meta.Image
	sessions map[kafka.BrokerID]*session // one for each registered broker
	order    []kafka.BrokerID            // of sessions, ascending
	actions  []Action

	ticked    time.Time
	balanceAt time.Time
	balancing bool // an election is under way

	voters voters
}

// NewMachine is a machine for a leadership that begins now. Every broker of the image
// has a new session, and is pinged once.
func NewMachine(c Config, now time.Time, image *meta.Image) *Machine {
	c.EnsureDefaults()
	m := &Machine{config: c, sessions: map[kafka.BrokerID]*session{}, ticked: now,
		balanceAt: now.Add(c.RebalanceInterval), voters: newVoters(now)}
	m.Image(now, image)
	for _, id := range m.order {
		m.sessions[id].unsure = true
	}
	m.Tick(now)
	return m
}

// Ready takes the actions that have gathered, in the order in which to begin them.
func (m *Machine) Ready() []Action {
	all := m.actions
	m.actions = nil
	return all
}

// Image takes a newer image.
func (m *Machine) Image(now time.Time, image *meta.Image) {
	if image == m.image {
		return
	}
	m.image = image
	for b := range image.Brokers() {
		s := m.sessions[b.ID]
		if s == nil || s.epoch != b.Epoch {
			s = &session{epoch: b.Epoch, seen: now}
			m.sessions[b.ID] = s
		}
		switch {
		case !b.Fenced:
			s.fencedAt = 0
		case s.fencedAt == 0:
			s.fencedAt = max(image.Index, 1)
		}
	}
	m.order = m.order[:0]
	for id := range m.sessions {
		if _, ok := image.Broker(id); !ok {
			delete(m.sessions, id)
			m.voters.unregistered(now, id)
			continue
		}
		m.order = append(m.order, id)
	}
	slices.Sort(m.order)
	m.judgeAll(now)
}

// Tick lets time pass: sessions end, pings and decisions are tried again, leaders and
// voters are looked at.
func (m *Machine) Tick(now time.Time) {
	if gap := now.Sub(m.ticked); gap > stallMax {
		for _, s := range m.sessions { // this node stood still, and heard nobody
			s.seen = s.seen.Add(gap)
		}
	}
	m.ticked = now
	m.judgeAll(now)
	m.balance(now)
	m.chooseVoters(now)
}

// Next is when Tick has something to do at the latest.
func (m *Machine) Next() time.Time {
	next := m.ticked.Add(TickInterval)
	sooner := func(t time.Time) {
		if t.After(m.ticked) && t.Before(next) {
			next = t
		}
	}
	for _, s := range m.sessions {
		sooner(s.seen.Add(m.config.SessionTimeout))
		sooner(s.pingAt)
		sooner(s.retryAt)
		sooner(s.shutAt)
	}
	return next
}

// Decided ends a Decide.
func (m *Machine) Decided(now time.Time, d Decide, err error) {
	if d.Broker == kafka.NoBroker {
		m.elected(now, err)
		return
	}
	s := m.sessions[d.Broker]
	if s == nil || !s.deciding {
		return
	}
	s.deciding = false
	if _, ok := d.Command.(*metadata.BeginShutdown); ok {
		s.shutAt, s.stopAgain = now.Add(shutdownRetry), false
	}
	if err != nil {
		s.retryAt = now.Add(retryPause)
	}
	m.judge(now, d.Broker)
}

// decide wants a command about a broker; there is one at a time.
func (m *Machine) decide(id kafka.BrokerID, s *session, c metadata.Command, why string) {
	s.deciding = true
	m.actions = append(m.actions, Decide{Broker: id, Command: c, Why: why})
}
