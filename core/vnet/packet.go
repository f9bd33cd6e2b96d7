package vnet

import (
	"errors"
	"net"
	"sync"
	"time"
)

// packetsMax is how many packets wait to be read; more are lost, as in a kernel.
const packetsMax = 256

// memPackets is the socket for packets of one address in memory. A send never waits.
type memPackets struct {
	mem    *Mem
	addr   memAddr
	queue  chan packet
	readBy *deadline
	once   sync.Once
}

// packet is one packet and whom it is from.
type packet struct {
	data []byte
	from memAddr
}

// ListenPacket implements PacketNetwork.
func (h memHost) ListenPacket(addr string) (net.PacketConn, error) {
	full, err := h.full(addr)
	if err != nil {
		return nil, err
	}
	h.mem.mu.Lock()
	defer h.mem.mu.Unlock()
	if h.mem.packets[full] != nil {
		return nil, &net.OpError{Op: "listen", Net: "mem", Addr: full, Err: errors.New("address already in use")}
	}
	p := &memPackets{mem: h.mem, addr: full, queue: make(chan packet, packetsMax), readBy: newDeadline()}
	h.mem.packets[full] = p
	return p, nil
}

// WriteTo sends one packet. What becomes of it the sender does not hear.
func (p *memPackets) WriteTo(b []byte, addr net.Addr) (int, error) {
	if p.readBy.isClosed() {
		return 0, &net.OpError{Op: "write", Net: "mem", Source: p.addr, Addr: addr, Err: net.ErrClosed}
	}
	to := memAddr(addr.String())
	delay, lost := p.mem.fate(p.addr, to)
	if lost {
		return len(b), nil
	}
	sent := packet{append([]byte(nil), b...), p.addr}
	if delay > 0 {
		time.AfterFunc(delay, func() { p.mem.deliver(sent, to) })
	} else {
		p.mem.deliver(sent, to)
	}
	return len(b), nil
}

// deliver puts a packet into the queue of whoever listens, if it has room.
func (m *Mem) deliver(sent packet, to memAddr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.packets[to]; p != nil {
		select {
		case p.queue <- sent:
		default:
		}
	}
}

// ReadFrom takes one packet; what does not fit into b is cut off.
func (p *memPackets) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		if err := p.readBy.check(); err != nil {
			return 0, nil, &net.OpError{Op: "read", Net: "mem", Source: p.addr, Err: err}
		}
		moved, timeout, stop := p.readBy.waiting()
		select {
		case got := <-p.queue:
			stop()
			return copy(b, got.data), got.from, nil
		case <-moved:
		case <-timeout:
		}
		stop()
	}
}

// Close ends every wait. Packets that come later are lost.
func (p *memPackets) Close() error {
	p.once.Do(func() {
		p.readBy.close()
		p.mem.mu.Lock()
		delete(p.mem.packets, p.addr)
		p.mem.mu.Unlock()
	})
	return nil
}

func (p *memPackets) LocalAddr() net.Addr { return p.addr }

func (p *memPackets) SetDeadline(t time.Time) error     { p.readBy.set(t); return nil }
func (p *memPackets) SetReadDeadline(t time.Time) error { p.readBy.set(t); return nil }

// SetWriteDeadline has no effect: a send never waits.
func (p *memPackets) SetWriteDeadline(time.Time) error { return nil }
