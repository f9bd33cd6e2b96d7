package membership

import (
	"net"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// doubtInterval is between two looks at a member that answers and is said to be dead.
const doubtInterval = time.Second

// doubt is a member that is or was said to be dead.
type doubt struct {
	Member
	stands bool // nobody has heard of it since
}

// doubt looks at a member that is said to be dead. It runs under the library's locks.
// However often that is said and denied, one goroutine looks.
func (m *Membership) doubt(member Member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	_, looking := m.doubted[member.ID]
	m.doubted[member.ID] = doubt{member, true}
	if !looking {
		m.running.Add(1)
		go m.verify(member.ID)
	}
}

// verify asks a member whether it is dead. If it answers, it is told what is said of it,
// and objects; if not, it is lost.
func (m *Membership) verify(id kafka.BrokerID) {
	defer m.running.Done()
	for {
		member, ok := m.stillDoubted(id)
		if !ok {
			return
		}
		if _, err := m.list.Ping(member.name(), net.UDPAddrFromAddrPort(member.Gossip)); err != nil {
			member.State = Dead
			m.settle(member)
			continue
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

// stillDoubted is a member that is still said to be dead; if it is not, verify ends.
func (m *Membership) stillDoubted(id kafka.BrokerID) (Member, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.doubted[id]
	if !d.stands || m.closed {
		delete(m.doubted, id)
		return Member{}, false
	}
	return d.Member, true
}

// settle remembers how a member is, and tells of a loss. It may run under the library's
// locks.
func (m *Membership) settle(member Member) {
	m.mu.Lock()
	d, doubted := m.doubted[member.ID]
	if m.closed || member.State == Dead && !d.stands { // it objected meanwhile
		m.mu.Unlock()
		return
	}
	if doubted {
		m.doubted[member.ID] = doubt{} // verify sees it and ends
	}
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
