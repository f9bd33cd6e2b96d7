package pluginhost

import (
	"context"
	"sync/atomic"
)

// gate bounds the calls of one generation: those that run and those that wait.
// Waiting is within a call's deadline.
type gate struct {
	places  chan struct{} // one token for each call that runs
	waiting atomic.Int64
	queue   int64
}

func newGate(concurrency, queue int) *gate {
	return &gate{places: make(chan struct{}, concurrency), queue: int64(queue)}
}

// enter waits for a place; who gets one must leave. It fails with causeBusy at once
// when too many wait, and with causeTimeout when ctx is done.
func (g *gate) enter(ctx context.Context) cause {
	select {
	case g.places <- struct{}{}:
		return causeNone
	default:
	}
	if g.waiting.Add(1) > g.queue {
		g.waiting.Add(-1)
		return causeBusy
	}
	defer g.waiting.Add(-1)
	select {
	case g.places <- struct{}{}:
		return causeNone
	case <-ctx.Done():
		return causeTimeout
	}
}

func (g *gate) leave() { <-g.places }
