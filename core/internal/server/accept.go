package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/mortisemq/mortise/core/wire"
)

// Pauses after an accept that failed, as with EMFILE: the listener stays ready,
// so without them the loop would spin.
const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// Serve accepts connections from l, which clients know by name, until Shutdown
// or Close, and then returns nil. It owns l. Another error means that l broke.
// identity is who a new connection's client is; nil: the handler has to find out.
func (s *Server) Serve(l net.Listener, name string, identity *wire.Identity) error {
	if !s.addListener(l) {
		return nil
	}
	defer s.removeListener(l)
	pause := acceptPauseMin
	for s.awaitCapacity(name) {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = acceptPauseMin
			s.admit(nc, name, identity)
		case s.stopped():
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("listener %s: %w", name, err)
		default:
			s.journal.note(reasonAccept, "accept failed, trying again", slog.String("listener", name), slog.Any("error", err), slog.Duration("pause", pause))
			s.sleep(pause)
			pause = min(2*pause, acceptPauseMax)
		}
	}
	return nil
}

func (s *Server) addListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		l.Close()
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) removeListener(l net.Listener) {
	l.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

func (s *Server) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// sleep waits for d or for the server to stop.
func (s *Server) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.stop:
	}
}

// limitsPoll is how often a full server looks whether max.connections was raised.
const limitsPoll = time.Second

// awaitCapacity waits, as Kafka does, until there are fewer connections than
// max.connections. It returns false when the server stops.
func (s *Server) awaitCapacity(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.stopping && len(s.conns) >= s.limits().MaxConnections {
		s.journal.note(reasonMaxConnections, "max.connections reached, not accepting", slog.String("listener", name), slog.Int("connections", len(s.conns)))
		timer := time.AfterFunc(limitsPoll, func() {
			s.mu.Lock()
			s.freed.Broadcast()
			s.mu.Unlock()
		})
		s.freed.Wait()
		timer.Stop()
	}
	return !s.stopping
}

// admit starts a connection, or closes it when its address has too many.
func (s *Server) admit(nc net.Conn, name string, identity *wire.Identity) {
	c := newConn(s, nc, name, identity, s.lastID.Add(1))
	limits := s.limits()
	s.mu.Lock()
	tooMany := c.ip.IsValid() && s.perIP[c.ip] >= limits.perIP(c.ip)
	if s.stopping || tooMany {
		s.mu.Unlock()
		nc.Close()
		c.read.close()
		if tooMany {
			s.journal.note(reasonPerIP, "connection refused: max.connections.per.ip", slog.String("listener", name), slog.String("peer", c.ip.String()))
		}
		return
	}
	s.conns[c] = struct{}{}
	s.perIP[c.ip]++
	s.running.Add(1)
	s.mu.Unlock()
	s.m.accepted.Add(1)
	s.m.connections.Add(1)
	limits.tune(nc)
	go func() {
		defer s.running.Done()
		c.serve()
		s.forget(c)
	}()
}

// forget takes a connection that ended out of the books.
func (s *Server) forget(c *conn) {
	s.m.connections.Add(-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.perIP[c.ip]--; s.perIP[c.ip] == 0 {
		delete(s.perIP, c.ip)
	}
	s.freed.Broadcast()
}
