package api

import (
	"context"
	"sync"

	"github.com/mortisemq/mortise/core/metrics"
)

// Bounds of the work that waits for the cluster or the file system.
const (
	backgroundWorkers = 32   // that run at once
	backgroundQueued  = 4096 // that wait for their turn, of all connections
)

// background runs work that may block. What one connection asked for runs in the
// order in which it asked, one at a time: a client that pipelines "create, then
// delete" means just that. Connections take turns.
//
// Lock order: mu is a leaf and not held while work runs.
type background struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	depth   *metrics.Gauge

	mu      sync.Mutex
	lanes   map[uint64]*lane // with work, by connection; guarded by mu
	ready   []*lane          // with work that nobody runs; guarded by mu
	workers int              // guarded by mu
	queued  int              // guarded by mu
	closed  bool             // guarded by mu
}

// lane is the work of one connection, oldest first.
type lane struct {
	conn uint64
	work []func(context.Context)
}

// newBackground makes one whose depth is shown by the gauge.
func newBackground(depth *metrics.Gauge) *background {
	b := &background{lanes: map[uint64]*lane{}, depth: depth}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// submit takes work over; false: there is too much, or the API is closed.
func (b *background) submit(conn uint64, work func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.queued >= backgroundQueued {
		return false
	}
	b.queued++
	b.depth.Set(int64(b.queued))
	if l := b.lanes[conn]; l != nil {
		l.work = append(l.work, work)
		return true
	}
	l := &lane{conn: conn, work: []func(context.Context){work}}
	b.lanes[conn] = l
	b.ready = append(b.ready, l)
	if b.workers < backgroundWorkers {
		b.workers++
		b.running.Go(b.run)
	}
	return true
}

// run works until nothing is ready.
func (b *background) run() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.ready) > 0 {
		l := b.ready[0]
		b.ready = b.ready[1:]
		work := l.work[0]
		l.work[0] = nil
		b.mu.Unlock()
		work(b.ctx)
		b.mu.Lock()
		b.queued--
		b.depth.Set(int64(b.queued))
		if l.work = l.work[1:]; len(l.work) > 0 {
			b.ready = append(b.ready, l)
		} else {
			delete(b.lanes, l.conn)
		}
	}
	b.workers--
}

// close cancels the context of the work and waits until all of it has ended.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	b.running.Wait()
}
