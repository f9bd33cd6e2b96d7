package controller

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// Pace of heartbeats that do not get their answer, and of a broker that stops.
const (
	beatRetry = 100 * time.Millisecond // the first pause after a failure; then twice as long
	beatStop  = 50 * time.Millisecond  // while the broker waits to be let go
	// stopPatience is how long a broker that stops waits for a leader who answers: longer
	// than an election takes.
	stopPatience = 5 * time.Second

	// rejoinAfter is how long no heartbeat reaches a leader before the node asks to be let
	// in again, and rejoinWait how long that may take.
	rejoinAfter = 15 * time.Second
	rejoinWait  = 10 * time.Second
)

// BeaterOptions are what a Beater says and to whom.
type BeaterOptions struct {
	ID       kafka.BrokerID
	Interval time.Duration // broker.heartbeat.interval.ms; 0: 2 s
	// Epoch is that of the broker's registration.
	Epoch func() kafka.BrokerEpoch
	// Applied is the index of the broker's image.
	Applied func() uint64
	// Full says whether a log directory of the broker has no room; nil: they have.
	Full func() bool
	// Send takes a heartbeat to the leader, whoever that is, and brings the answer.
	Send func(ctx context.Context, body []byte) ([]byte, error)
	// Answered is told when a heartbeat was sent that the leader has answered; nil: nobody
	// wants to know.
	Answered func(sent time.Time)
	// Register registers the broker again: the cluster has forgotten it.
	Register func(ctx context.Context) error
	// Rejoin finds the control log again, of which this node may be no member any more: it
	// was removed when the broker registered. nil: that can't be.
	Rejoin func(ctx context.Context) error
	Log    *slog.Logger // nil: nothing is logged
}

// Beater sends the heartbeats of a broker. It is safe for concurrent use.
type Beater struct {
	options  BeaterOptions
	stopping atomic.Bool
	full     atomic.Bool // as the leader was told last
	kick     chan struct{}
	answered chan struct{} // room for one: the leader answered a broker that stops
	letGo    chan struct{} // closed when the leader lets the broker stop
	said     string        // the last trouble that was logged; the loop's own

	stop    context.CancelFunc
	running sync.WaitGroup
}

// Beat begins to send heartbeats.
func Beat(o BeaterOptions) *Beater {
	if o.Interval == 0 {
		o.Interval = 2 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	b := &Beater{options: o, kick: make(chan struct{}, 1), answered: make(chan struct{}, 1), letGo: make(chan struct{}), stop: stop}
	b.running.Add(1)
	go b.run(ctx)
	return b
}

// Close ends the heartbeats.
func (b *Beater) Close() {
	b.stop()
	b.running.Wait()
}

// Stop tells the leader that the broker wants to stop, and waits until it may: until it
// leads nothing that another could lead, or is not the one that counts. ErrNoLeader: nobody answered for a while. Else
// the error is that of ctx.
func (b *Beater) Stop(ctx context.Context) error {
	b.stopping.Store(true)
	nudge(b.kick)
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	for {
		select {
		case <-b.letGo:
			return nil
		case <-b.answered:
			patience.Reset(stopPatience)
		case <-patience.C:
			return ErrNoLeader
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// RoomChanged says that a log directory may have become full, or have room again: the
// leader is told now if that is news to it. It does not wait.
func (b *Beater) RoomChanged() {
	if b.isFull() != b.full.Load() {
		nudge(b.kick)
	}
}

// isFull is Options.Full.
func (b *Beater) isFull() bool { return b.options.Full != nil && b.options.Full() }

// nudge leaves a sign in a channel with room for one.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run sends heartbeats until ctx ends or the broker is let go.
func (b *Beater) run(ctx context.Context) {
	defer b.running.Done()
	retry, answered := beatRetry, time.Now()
	for {
		a, err := b.beat(ctx)
		pause := b.options.Interval
		switch {
		case err != nil:
			pause, retry = min(retry, pause), min(2*retry, pause)
			if time.Since(answered) >= rejoinAfter && b.options.Rejoin != nil && !b.stopping.Load() {
				b.rejoin(ctx)
				answered = time.Now() // or ask again after a while
				// Whoever leads now may not have heard of this broker all the while.
				pause, retry = beatRetry, beatRetry
			}
		case b.stopping.Load() && (a.Stop || a.Status == Superseded):
			close(b.letGo)
			return
		default:
			retry, answered = beatRetry, time.Now()
			if b.stopping.Load() {
				pause = beatStop
				nudge(b.answered)
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-b.kick:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// beat sends one heartbeat and does what the answer asks for.
func (b *Beater) beat(ctx context.Context) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, b.options.Interval)
	defer cancel()
	a, err := b.exchange(ctx)
	switch {
	case err != nil:
		b.say(slog.LevelInfo, "no heartbeat reaches the leader", "error", err)
	case a.Status == Unknown:
		b.say(slog.LevelWarn, "the cluster does not know this broker; it registers again")
		err = b.options.Register(ctx)
		if err != nil {
			b.say(slog.LevelWarn, "the broker can't register again", "error", err)
		}
	case a.Status == Superseded:
		b.say(slog.LevelError, "another process registered with this broker's id; stop one of them")
	case a.Fenced && !b.stopping.Load():
		b.say(slog.LevelWarn, "this broker is fenced: it leads nothing until the leader hears of it and reaches it")
	default:
		b.said = ""
	}
	return a, err
}

// rejoin has the node ask to be let in.
func (b *Beater) rejoin(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rejoinWait)
	defer cancel()
	if err := b.options.Rejoin(ctx); err != nil {
		b.say(slog.LevelWarn, "no heartbeat reaches a leader, and nobody lets this node in", "error", err)
	}
}

// exchange sends a heartbeat and reads the answer.
func (b *Beater) exchange(ctx context.Context) (a Answer, err error) {
	h := Heartbeat{ID: b.options.ID, Epoch: b.options.Epoch(), Applied: b.options.Applied(), Stopping: b.stopping.Load(), Full: b.isFull()}
	body, err := encode(&h)
	if err != nil {
		return a, err
	}
	sent := time.Now()
	if body, err = b.options.Send(ctx, body); err != nil {
		return a, err
	}
	if b.options.Answered != nil {
		b.options.Answered(sent)
	}
	b.full.Store(h.Full)
	return a, decode(body, &a)
}

// say logs a trouble once, until it is another or over.
func (b *Beater) say(level slog.Level, text string, args ...any) {
	if text == b.said {
		level = slog.LevelDebug
	}
	b.said = text
	b.options.Log.Log(context.Background(), level, text, args...)
}
