package server

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/wire"
)

// conn is one client connection.
type conn struct {
	srv   *Server
	nc    net.Conn
	info  wire.ConnInfo
	ip    netip.Addr
	stop  chan struct{} // closed by kill
	read  reader        // the reading goroutine's
	write writer        // the current writer's
	// writeLate is (*conn).lateWriter as a value, so that starting it does not
	// allocate.
	writeLate func()

	draining atomic.Bool  // no new requests; close when the last answer went out
	held     atomic.Int64 // bytes of memory charged to this connection

	mu       sync.Mutex
	changed  sync.Cond // on mu: room, death, or the last answer
	head     *slot     // guarded by mu; the oldest request
	tail     *slot     // guarded by mu
	inFlight int       // guarded by mu; slots not yet written
	outBytes int64     // guarded by mu; of answers not yet written, without bodies
	inBatch  bool      // guarded by mu; the reader will write at the end of its batch
	serial   int       // guarded by mu; requests that must be answered before the next starts
	counted  int64     // guarded by mu; of outBytes, in Server.unread
	writing  bool      // guarded by mu; somebody writes
	dead     bool      // guarded by mu
	active   time.Time // guarded by mu; when the last answer left, at first the start
	muted    time.Time // guarded by mu; nothing starts before (KIP-219)
	waiting  atomic.Bool
}

// maxOutBytes of answers that wait for the peer to read: at this bound nothing
// more is started for it.
const maxOutBytes = 4 << 20

func newConn(s *Server, nc net.Conn, listener string, identity *wire.Identity, id uint64) *conn {
	c := &conn{srv: s, nc: nc, stop: make(chan struct{}), active: time.Now()}
	c.changed.L = &c.mu
	c.writeLate = c.lateWriter
	c.info.ID, c.info.Listener = id, listener
	c.info.SetIdentity(identity)
	c.info.Remote = remoteAddr(nc)
	c.ip = c.info.Remote.Addr()
	c.read.init(c)
	c.write.init(c)
	return c
}

// remoteAddr is the peer's address; not valid for a network without IPs.
func remoteAddr(nc net.Conn) netip.AddrPort {
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		ap := a.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	ap, _ := netip.ParseAddrPort(nc.RemoteAddr().String())
	return ap
}

// serve reads until the connection ends, and ends it.
func (c *conn) serve() {
	err := c.read.loop()
	c.endBatch()
	if errors.Is(err, errStopped) {
		c.awaitAnswers()
	}
	c.kill(err)
	c.read.close()
	if gone := c.srv.opt.Gone; gone != nil {
		gone(&c.info)
	}
}

// enqueue puts s at the end of the queue once there is room. It returns false
// when the connection died meanwhile.
func (c *conn) enqueue(s *slot) bool {
	c.mu.Lock()
	if !c.hasRoom(s.serial) {
		c.mu.Unlock()
		c.endBatch()
		c.mu.Lock()
		c.awaitRoom(s.serial)
	}
	defer c.mu.Unlock()
	if c.dead {
		return false
	}
	if c.tail == nil {
		c.head = s
	} else {
		c.tail.next = s
	}
	c.tail = s
	c.inFlight++
	c.inBatch = true
	if s.serial {
		c.serial++
	}
	return true
}

// hasRoom reports whether another request may start. Caller holds mu.
func (c *conn) hasRoom(serial bool) bool {
	return c.inFlight < c.read.limits.InFlightRequests && c.outBytes < maxOutBytes && c.muted.IsZero() &&
		c.serial == 0 && !c.crowded(serial)
}

// awaitRoom waits for room. Caller holds mu and is the reader.
func (c *conn) awaitRoom(serial bool) {
	for !c.dead && !c.hasRoom(serial) {
		switch {
		case !c.muted.IsZero():
			c.awaitUnmute()
		case c.crowded(serial):
			c.awaitCalm()
		default:
			c.changed.Wait()
		}
	}
}

// awaitUnmute waits until the throttle time is over. Caller holds mu.
func (c *conn) awaitUnmute() {
	left := time.Until(c.muted)
	if left <= 0 || c.draining.Load() {
		c.muted = time.Time{}
		return
	}
	timer := time.AfterFunc(left, c.wake)
	c.changed.Wait()
	timer.Stop()
}

// wake lets the reader look again at what it waits for.
func (c *conn) wake() {
	c.mu.Lock()
	c.changed.Broadcast()
	c.mu.Unlock()
}

// awaitAnswers waits until everything that was started is answered and written.
func (c *conn) awaitAnswers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.dead && (c.head != nil || c.writing) {
		c.changed.Wait()
	}
}

// activity is when the last answer left, and whether one is due.
func (c *conn) activity() (last time.Time, waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active, c.inFlight > 0
}

// charge takes n bytes from the connection's and the process's budget and waits
// for them, as the reader. They go back by refund.
func (c *conn) charge(n int64) error {
	budget := c.srv.opt.Budget
	if !c.holdsRoom(n, 0) || !budget.TryAcquire(n) {
		c.endBatch()
		if err := c.awaitHeld(n, 0); err != nil {
			return err
		}
		if !budget.TryAcquire(n) {
			c.srv.m.budgetWaits.Add(1)
			if !budget.Acquire(n, c.stop) {
				return net.ErrClosed
			}
		}
	}
	c.held.Add(n)
	return nil
}

// holdsRoom reports whether n more bytes fit in what the connection may hold.
// What a frame holds itself (own) is never in its way.
func (c *conn) holdsRoom(n, own int64) bool {
	held := c.held.Load()
	return held == own || held+n <= c.read.limits.InFlightBytes
}

func (c *conn) awaitHeld(n, own int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting.Store(true)
	defer c.waiting.Store(false)
	for !c.dead && !c.holdsRoom(n, own) {
		c.changed.Wait()
	}
	if c.dead {
		return net.ErrClosed
	}
	return nil
}

// refund gives back what charge took.
func (c *conn) refund(n int64) {
	c.srv.opt.Budget.Release(n)
	c.held.Add(-n)
	if c.waiting.Load() {
		c.wake()
	}
}

// drain has the connection close when what was started is answered.
func (c *conn) drain() {
	c.draining.Store(true)
	c.nc.SetReadDeadline(longAgo) //nolint:errcheck // a dead connection drains by itself
	c.wake()
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// kill closes the connection, cancels what waits and frees what is answered. Only
// the first call does anything.
func (c *conn) kill(err error) {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return
	}
	c.dead = true
	c.countUnread(0)
	first := c.head
	c.head, c.tail = nil, nil
	var cancels []func()
	var done []*slot
	for s := first; s != nil; s = s.next {
		switch {
		case s.done:
			done = append(done, s)
		default:
			s.orphan = true
			if s.cancel != nil {
				cancels = append(cancels, s.cancel)
				s.cancel = nil
			}
		}
	}
	c.changed.Broadcast()
	c.mu.Unlock()
	close(c.stop)
	c.nc.Close()
	for _, s := range done {
		s.free()
	}
	for _, f := range cancels {
		f()
	}
	c.report(err)
}

// report counts and logs why we closed the connection. What the peer did (it
// went away) is not worth a line.
func (c *conn) report(err error) {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, errStopped) {
		return
	}
	r, ours := reasonOf(err)
	var network net.Error
	switch {
	case r == reasonIdle:
		c.srv.journal.m.rejected[r].Add(1)
	case !ours && (errors.Is(err, net.ErrClosed) || errors.As(err, &network)):
	default:
		attrs := []slog.Attr{
			slog.String("reason", err.Error()), slog.String("listener", c.info.Listener),
			slog.String("peer", c.nc.RemoteAddr().String()),
		}
		if hint := c.srv.advice(r, c.info.Listener); hint != "" {
			attrs = append(attrs, slog.String("hint", hint))
		}
		c.srv.journal.note(r, "connection closed", attrs...)
	}
}
