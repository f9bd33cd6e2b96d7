package server

import "time"

// Answers that peers have not read are memory. Each connection is bounded by
// maxOutBytes; these bound them all.
const (
	unreadLimit  = 256 << 20              // bytes over all connections
	unreadSmall  = 64 << 10               // a connection below is not counted, and may go on with pipelined requests
	unreadGrace  = 5 * time.Second        // without an answer written, when others wait for room
	crowdLook    = 100 * time.Millisecond // how often who waits for room looks again
	relieveEvery = time.Second
)

// countUnread makes bytes the connection's share of Server.unread, in steps that
// leave small answers out of it. Caller holds mu.
func (c *conn) countUnread(bytes int64) {
	if bytes < unreadSmall || c.dead {
		bytes = 0
	}
	if bytes != c.counted {
		c.srv.unread.Add(bytes - c.counted)
		c.counted = bytes
	}
}

// crowded reports whether the request must wait because too many answers are
// unread: one of this connection's, or one that could be large. Caller holds mu.
func (c *conn) crowded(serial bool) bool {
	return (serial || c.counted > 0) && c.srv.unread.Load() >= unreadLimit
}

// awaitCalm waits for a while and closes connections that are in the way. Caller
// holds mu.
func (c *conn) awaitCalm() {
	timer := time.AfterFunc(crowdLook, func() {
		c.srv.relieve()
		c.wake()
	})
	c.changed.Wait()
	timer.Stop()
}

// relieve closes the connections that do not read while others wait.
func (s *Server) relieve() {
	now := time.Now()
	last := s.relieved.Load()
	if now.UnixNano()-last < int64(relieveEvery) || !s.relieved.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	var stuck []*conn
	s.mu.Lock()
	for c := range s.conns {
		if c.stuck(now) {
			stuck = append(stuck, c)
		}
	}
	s.mu.Unlock()
	for _, c := range stuck {
		c.kill(errUnread)
	}
}

// stuck reports whether much waits for the peer and none of it has left lately.
func (c *conn) stuck(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counted > 0 && c.writing && now.Sub(c.active) > unreadGrace
}
