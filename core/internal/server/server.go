package server

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/quota"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/wire"
)

// Server serves the Kafka protocol on any number of listeners. It is safe for
// concurrent use.
type Server struct {
	opt       Options
	m         *counters
	journal   *journal
	pools     pools          // memory of frames
	slots     sync.Pool      // *slot
	outs      sync.Pool      // *[]byte of outSize
	responses wire.Responses // being built
	running   sync.WaitGroup // goroutines of connections
	lastID    atomic.Uint64
	decoding  *quota.Budget // what ordinary requests are turned into
	unread    atomic.Int64  // bytes of answers that peers have not read, see crowd.go
	relieved  atomic.Int64  // when relieve ran last, in nanoseconds

	mu        sync.Mutex
	freed     sync.Cond                 // on mu: a connection ended, or stopping
	listeners map[net.Listener]struct{} // guarded by mu
	conns     map[*conn]struct{}        // guarded by mu
	perIP     map[netip.Addr]int        // guarded by mu; of conns
	stopping  bool                      // guarded by mu
	stop      chan struct{}             // closed with stopping
}

// New returns a server that serves nothing yet.
func New(opt Options) *Server {
	if opt.Clock == nil {
		opt.Clock = clock.System{}
	}
	if opt.Metrics == nil {
		opt.Metrics = metrics.NewRegistry()
	}
	if opt.Budget == nil {
		opt.Budget = quota.NewBudget(quota.DefaultBytes)
	}
	m := newCounters(opt.Metrics, opt.Versions)
	s := &Server{
		opt: opt, m: m, journal: &journal{log: opt.Log, clock: opt.Clock, m: m},
		listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{}, perIP: map[netip.Addr]int{},
		stop: make(chan struct{}), decoding: quota.NewBudget(decodeBytes),
	}
	s.freed.L = &s.mu
	s.slots.New = func() any { return new(slot) }
	s.outs.New = func() any {
		b := make([]byte, 0, outSize)
		return &b
	}
	opt.Metrics.GaugeFunc("mortise_server_queued_bytes", "Bytes charged to queued.max.request.bytes.", func() float64 {
		used, _, _ := opt.Budget.Usage()
		return float64(used)
	})
	return s
}

// limits are the limits of this moment.
func (s *Server) limits() Limits {
	if s.opt.Limits == nil {
		return Limits{}.withDefaults()
	}
	return s.opt.Limits().withDefaults()
}

// checkVersion refuses what the handler does not take, before its body is read.
func (s *Server) checkVersion(key, version int16) error {
	lo, hi, ok := s.opt.Versions(key)
	switch {
	case ok && version >= lo && version <= hi:
		return nil
	case key == wire.KeyAPIVersions:
		return nil // the handler answers any version, even -1, with what we have (KIP-511)
	case !ok:
		return fmt.Errorf("%w: key %d", errVersion, key)
	}
	return fmt.Errorf("%w: key %d version %d, have %d to %d", errVersion, key, version, lo, hi)
}

// Shutdown stops accepting and reading, lets what was started be answered, and
// closes every connection that is done. When ctx ends first it closes the rest
// and returns ctx's error. It returns when no goroutine of the server is left.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopAccepting()
	s.mu.Lock()
	for c := range s.conns {
		c.drain()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.Close()
	<-done
	return ctx.Err()
}

// Close closes every listener and connection at once and waits for their
// goroutines.
func (s *Server) Close() {
	s.stopAccepting()
	s.mu.Lock()
	all := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.kill(errStopped)
	}
	s.running.Wait()
}

// stopAccepting closes the listeners. Connections that were being accepted are
// closed by admit.
func (s *Server) stopAccepting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	s.stopping = true
	close(s.stop)
	for l := range s.listeners {
		l.Close()
	}
	s.freed.Broadcast()
}
