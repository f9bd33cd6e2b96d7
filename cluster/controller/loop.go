package controller

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
)

// pingsMax bounds the pings that are under way at a time.
const pingsMax = 32

// Options are what a Loop sees of the cluster and how it acts on it. All functions but
// Image, Watch and Lost may take their time; they end with their ctx.
type Options struct {
	Config
	Image func() *meta.Image
	Watch func(func(*meta.Image)) (stop func()) // as meta.Control.Watch
	// Leadership says whether this node leads, each time that changes.
	Leadership <-chan bool
	Members    func(ctx context.Context) ([]Member, error)
	Propose    func(ctx context.Context, c metadata.Command) (metadata.Result, error)
	Change     func(ctx context.Context, c VoterChange) error
	Ping       func(ctx context.Context, id kafka.BrokerID) error
	Lost       func() []kafka.BrokerID // the nodes that gossip does not find; nil: there is no gossip
	Log        *slog.Logger            // nil: nothing is logged
	Metrics    *metrics.Registry       // nil: a private one
}

// Loop runs a Machine while this node leads. It is safe for concurrent use.
type Loop struct {
	options Options
	log     *slog.Logger
	counts  counts
	beats   chan beat
	asks    chan func(*Machine) // nil: this node does not lead
	look    chan struct{}       // something outside has changed
	ended   chan ended
	pings   chan struct{} // a token for each that is under way
	stop    context.CancelFunc
	done    chan struct{}
}

// beat is a heartbeat that waits for its answer.
type beat struct {
	Heartbeat
	answer chan Answer // room for one; closed without one when this node does not lead
}

// ended is the end of an action.
type ended struct {
	action Action
	err    error
}

// Start starts a loop.
func Start(o Options) *Loop {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Loop{options: o, log: o.Log, counts: newCounts(o.Metrics), beats: make(chan beat), asks: make(chan func(*Machine)), look: make(chan struct{}, 1), ended: make(chan ended),
		pings: make(chan struct{}, pingsMax), stop: stop, done: make(chan struct{})}
	go l.run(ctx)
	return l
}

// Close ends the loop and everything that it began.
func (l *Loop) Close() {
	l.stop()
	<-l.done
}

// Suspect says that gossip has lost or found somebody. It never blocks.
func (l *Loop) Suspect() { nudge(l.look) }

// Heartbeat answers a heartbeat. ErrNotLeading: ask somebody else.
func (l *Loop) Heartbeat(ctx context.Context, h Heartbeat) (Answer, error) {
	b := beat{h, make(chan Answer, 1)}
	select {
	case l.beats <- b:
	case <-l.done:
		return Answer{}, ErrNotLeading
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	if a, ok := <-b.answer; ok {
		return a, nil
	}
	return Answer{}, ErrNotLeading
}

// Ages is how long ago each broker was heard of. It is empty when this node does not
// lead.
func (l *Loop) Ages(ctx context.Context) map[kafka.BrokerID]time.Duration {
	ages := map[kafka.BrokerID]time.Duration{}
	asked := make(chan struct{})
	ask := func(m *Machine) {
		defer close(asked)
		if m == nil {
			return
		}
		now := time.Now()
		for id, s := range m.sessions {
			ages[id] = now.Sub(s.seen)
		}
	}
	select {
	case l.asks <- ask:
		<-asked
	case <-l.done:
	case <-ctx.Done():
	}
	return ages
}

// Answer answers the bytes of a heartbeat, for the port between nodes.
func (l *Loop) Answer(ctx context.Context, body []byte) ([]byte, error) {
	var h Heartbeat
	if err := decode(body, &h); err != nil {
		return nil, kafka.ErrInvalidRequest.Err(err.Error())
	}
	a, err := l.Heartbeat(ctx, h)
	if err != nil {
		return nil, kafka.ErrNotController.Err(err.Error())
	}
	return encode(&a)
}

// run waits for what happens until ctx ends.
func (l *Loop) run(ctx context.Context) {
	defer close(l.done)
	unwatch := l.options.Watch(func(*meta.Image) { l.Suspect() })
	defer unwatch()
	for {
		select {
		case <-ctx.Done():
			return
		case leads := <-l.options.Leadership:
			for leads {
				leads = l.lead(ctx)
			}
		case b := <-l.beats:
			close(b.answer)
		case ask := <-l.asks:
			ask(nil)
		case <-l.look: // nobody's business now
		}
	}
}

// lead runs a machine until the term ends, and says whether another one has begun: who
// has lost the leadership and has it again missed the heartbeats in between.
func (l *Loop) lead(ctx context.Context) (again bool) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	m := NewMachine(l.options.Config, time.Now(), l.options.Image())
	l.log.Info("this node leads the control plane")
	l.news(ctx, m, true)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ends := false; !ends; {
		for _, a := range m.Ready() {
			running.Add(1)
			go func() {
				defer running.Done()
				l.act(ctx, a)
			}()
		}
		timer.Reset(time.Until(m.Next()))
		select {
		case <-ctx.Done():
			ends = true
		case again = <-l.options.Leadership:
			ends = true
		case b := <-l.beats:
			m.Image(time.Now(), l.options.Image())
			b.answer <- m.Heartbeat(time.Now(), b.Heartbeat)
		case ask := <-l.asks:
			ask(m)
		case <-l.look:
			l.news(ctx, m, false)
		case e := <-l.ended:
			l.end(m, e)
		case <-timer.C:
			l.news(ctx, m, true)
			m.Tick(time.Now())
		}
	}
	l.log.Info("this node does not lead the control plane any more")
	cancel()
	running.Wait()
	return again
}

// news tells a machine what has changed outside.
func (l *Loop) news(ctx context.Context, m *Machine, members bool) {
	now := time.Now()
	m.Image(now, l.options.Image())
	if l.options.Lost != nil {
		m.Lost(now, l.options.Lost())
	}
	if !members {
		return
	}
	if all, err := l.options.Members(ctx); err == nil {
		m.Members(now, all)
	} else {
		l.log.Debug("the members of the control plane are not known", "error", err)
	}
}

// act does what a machine wants, and tells the loop of the end.
func (l *Loop) act(ctx context.Context, a Action) {
	var err error
	switch a := a.(type) {
	case Ping:
		err = l.ping(ctx, a.ID)
	case VoterChange:
		err = l.options.Change(ctx, a)
	case Decide:
		var r metadata.Result
		if r, err = l.options.Propose(ctx, a.Command); err == nil && r.Err != nil {
			err = r.Err
		}
	}
	select {
	case l.ended <- ended{a, err}:
	case <-ctx.Done():
	}
}

// ping asks a node whether it is there.
func (l *Loop) ping(ctx context.Context, id kafka.BrokerID) error {
	select {
	case l.pings <- struct{}{}:
		defer func() { <-l.pings }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, PingTimeout)
	defer cancel()
	return l.options.Ping(ctx, id)
}

// end tells the machine, and people, how an action ended.
func (l *Loop) end(m *Machine, e ended) {
	now := time.Now()
	m.Image(now, l.options.Image())
	level, text := slog.LevelInfo, fmt.Sprint(e.action)
	switch a := e.action.(type) {
	case Ping:
		level = slog.LevelDebug
		m.Pong(now, a.ID, e.err == nil)
	case VoterChange:
		m.Changed(now, a, e.err)
	case Decide:
		if _, ok := a.Command.(*metadata.FenceBroker); ok && a.Why != whyStops {
			level = slog.LevelWarn
		}
		m.Decided(now, a, e.err)
	}
	l.counts.count(e.action, e.err)
	if e.err != nil {
		l.log.Log(context.Background(), level, text, "error", e.err)
	} else {
		l.log.Log(context.Background(), level, text)
	}
}
