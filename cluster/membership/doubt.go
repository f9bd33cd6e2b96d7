package membership

import (
	"net"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// doubtInterval is between two looks at a member that answers and is said to be dead.
const doubtInterval = time.Second

// doubt looks at a member that is said to be dead. It runs under the library's locks.
func (m *Membership) doubt(member Member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.doubted[member.ID] {
		return
	}
	m.doubted[member.ID] = true
	m.running.Add(1)
	go m.verify(member)
}

// verify asks a member whether it is dead. If it answers, it is told what is said of it,
// and objects; if not, it is lost.
func (m *Membership) verify(member Member) {
	defer m.running.Done()
	for m.isDoubted(member.ID) {
		if _, err := m.list.Ping(member.name(), net.UDPAddrFromAddrPort(member.Gossip)); err != nil {
			member.State = Dead
			m.settle(member)
			return
		}
		if err := m.Join(member.Gossip); err != nil {
			m.log.Debug("a node answers and is said to be dead", "node", member.ID, "error", err)
		}
		select {
		case <-m.ctx.Done():
			return
		case <-time.After(doubtInterval):
		}
	}
}

// isDoubted says whether a member is still said to be dead.
func (m *Membership) isDoubted(id kafka.BrokerID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.doubted[id] && !m.closed
}

// settle remembers how a member is, and tells of a loss. It may run under the library's
// locks.
func (m *Membership) settle(member Member) {
	m.mu.Lock()
	if m.closed || member.State == Dead && !m.doubted[member.ID] { // it objected meanwhile
		m.mu.Unlock()
		return
	}
	delete(m.doubted, member.ID)
	before, known := m.known[member.ID]
	m.known[member.ID] = member
	m.mu.Unlock()
	if !known || before.State != member.State {
		m.log.Info("node is "+member.State.String(), "node", member.ID, "peer", member.Peer, "rack", member.Rack)
	}
	if member.State != Alive && m.options.Suspected != nil {
		m.options.Suspected(member.ID)
	}
}
