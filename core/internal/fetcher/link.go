package fetcher

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// redialFirst is the first wait after a lost connection; each further one is twice as
// long, up to replica.fetch.backoff.ms.
const redialFirst = 10 * time.Millisecond

// link is one session and its connection. run is its only goroutine.
type link struct {
	m       *Manager
	at      place
	log     *slog.Logger
	session *Session
	in      inbox
	signal  chan struct{} // of letters, when there is no connection to wake

	faults  int       // since the last good answer
	heard   time.Time // when something arrived, or was first waited for
	bedtime time.Time // the connection's read deadline; zero: not known
	sendBy  time.Time // its write deadline

	mu     sync.Mutex
	mail   []letter // guarded by mu
	conn   net.Conn // nil: none; set by run only; guarded by mu
	dialed net.Conn // that run logs in on; nil: none; guarded by mu
	ended  bool     // guarded by mu
}

// letter tells a link to follow a partition, or to do so no longer.
type letter struct {
	replica Replica
	follow  bool
}

// newLink makes a link that follows nothing.
func newLink(m *Manager, at place) *link {
	log := m.o.Log.With("leader", at.leader)
	return &link{m: m, at: at, log: log, signal: make(chan struct{}, 1), session: NewSession(Options{
		Self: m.o.Self, Leader: at.leader, Name: m.clientID(at), Config: m.o.Config, Log: log, Stats: m.stats, Quota: m.o.Quota,
		Epoch: func() kafka.BrokerEpoch { return kafka.BrokerEpoch(m.epoch.Load()) },
	})}
}

// post hands a letter over and wakes run, wherever it waits.
func (l *link) post(m letter) {
	l.mu.Lock()
	l.mail = append(l.mail, m)
	l.wake()
	l.mu.Unlock()
}

// stop ends run.
func (l *link) stop() {
	l.mu.Lock()
	l.ended = true
	for _, conn := range []net.Conn{l.conn, l.dialed} {
		if conn != nil {
			_ = conn.SetDeadline(longAgo) // a dead connection ends what run does with it by itself
		}
	}
	l.wake()
	l.mu.Unlock()
}

// longAgo is a read deadline that has passed.
var longAgo = time.Unix(1, 0)

// wake ends a read or a sleep of run. Caller holds mu.
func (l *link) wake() {
	if l.conn != nil {
		_ = l.conn.SetReadDeadline(longAgo) // a dead connection wakes run by itself
	}
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// run fetches until stop.
func (l *link) run() {
	defer l.session.Close()
	defer l.hangUp()
	for l.readMail() {
		if l.session.Len() == 0 {
			l.hangUp()
			l.sleep(time.Time{})
			continue
		}
		if err := l.step(); err != nil {
			l.fault(err)
		}
	}
}

// readMail tells the session what was posted. False: stop was called.
func (l *link) readMail() bool {
	l.mu.Lock()
	mail := l.mail
	l.mail = nil
	ended := l.ended
	l.mu.Unlock()
	for _, m := range mail {
		if m.follow {
			l.session.Follow(m.replica)
		} else {
			l.session.Unfollow(m.replica)
		}
	}
	return !ended
}

// step sends what there is to send and takes what arrives, once.
//
// Hot: per answer.
func (l *link) step() error {
	if l.conn == nil {
		if err := l.dial(); err != nil {
			return err
		}
	}
	now := l.m.o.Clock.Now()
	for {
		frame := l.session.Next(now)
		if frame == nil {
			break
		}
		if err := l.send(now, frame); err != nil {
			return err
		}
	}
	if !l.session.Waits() {
		at, _ := l.session.Wake()
		l.sleep(at)
		return nil
	}
	return l.receive(now)
}

// send sends a request. It waits for a leader that takes nothing, but not for long.
func (l *link) send(now time.Time, frame []byte) error {
	timeout := l.timeout()
	if l.sendBy.Sub(now) < timeout/2 {
		l.mu.Lock()
		if !l.ended {
			l.sendBy = now.Add(timeout)
			_ = l.conn.SetWriteDeadline(l.sendBy) // the write fails if this does
		}
		l.mu.Unlock()
	}
	if _, err := l.conn.Write(frame); err != nil {
		return fmt.Errorf("send a request: %w", err)
	}
	l.heard = now
	return nil
}

// receive reads once, and takes the answers that are complete then.
func (l *link) receive(now time.Time) error {
	if !l.setBedtime(now) {
		return nil // there is mail
	}
	err := l.in.read(l.conn, l.most())
	now = l.m.o.Clock.Now()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		l.bedtime = time.Time{}
		if now.Sub(l.heard) < l.timeout() {
			return nil // mail, or a rest is over
		}
		return fmt.Errorf("no answer for %v: %w", l.timeout(), err)
	case err != nil:
		return fmt.Errorf("read an answer: %w", err)
	}
	l.heard = now
	for {
		frame, err := l.in.frame(l.most())
		if err != nil || frame == nil {
			return err
		}
		if err := l.session.Handle(now, frame); err != nil {
			return err
		}
		l.faults = 0
	}
}

// setBedtime has the next read end when a rest of the session is over, or nothing was
// heard for too long. False: there is mail to read first.
func (l *link) setBedtime(now time.Time) bool {
	timeout := l.timeout()
	at := now.Add(timeout)
	if wake, ok := l.session.Wake(); ok && wake.Before(at) {
		at = wake
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.mail) > 0 || l.ended {
		return false
	}
	if l.bedtime.IsZero() || at.Before(l.bedtime) || l.bedtime.Sub(now) < timeout/2 {
		l.bedtime = at
		_ = l.conn.SetReadDeadline(at) // the read fails if this does
	}
	return true
}

// What is around the records of an answer, at most.
const (
	answerOverhead    = 1 << 10
	partitionOverhead = 128
)

// most is the largest frame that a leader may send: what is asked for, or one batch
// that is larger, which a producer once sent in a request.
func (l *link) most() int {
	records := max(l.m.o.Config().FetchResponseMaxBytes, l.m.o.RequestMaxBytes())
	return records + answerOverhead + partitionOverhead*l.session.Len()
}

// timeout is for how long an answer may stay away.
func (l *link) timeout() time.Duration {
	return time.Duration(l.m.o.Config().SocketTimeoutMS) * time.Millisecond
}

// fault gives the connection up and waits a while.
func (l *link) fault(err error) {
	l.m.stats.Errors.Add(1)
	l.hangUp()
	backoff := time.Duration(l.m.o.Config().FetchBackoffMS) * time.Millisecond
	if l.faults < 16 {
		backoff = min(backoff, redialFirst<<l.faults)
	}
	if l.faults++; l.m.ctx.Err() == nil {
		l.log.Log(l.m.ctx, levelOf(l.faults), "connection to a leader lost", "err", err, "again_in", backoff)
	}
	l.rest(backoff)
}

// levelOf keeps the log short while a leader is away.
func levelOf(faults int) slog.Level {
	if faults == 1 || faults%60 == 0 {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// hangUp ends the connection, if there is one.
func (l *link) hangUp() {
	l.mu.Lock()
	conn := l.conn
	l.conn = nil
	l.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
		l.m.stats.Connection.Add(-1)
		l.in.reset()
		l.session.Disconnected()
	}
}

// sleep waits for mail, or until at; zero: for mail alone.
func (l *link) sleep(at time.Time) {
	l.mu.Lock()
	idle := len(l.mail) == 0 && !l.ended
	l.mu.Unlock()
	if !idle {
		return
	}
	if at.IsZero() {
		<-l.signal
		return
	}
	timer := l.m.o.Clock.AfterFunc(at.Sub(l.m.o.Clock.Now()), func() {
		select {
		case l.signal <- struct{}{}:
		default:
		}
	})
	<-l.signal
	timer.Stop()
}

// rest waits for d, or for mail: it may be news of the leader.
func (l *link) rest(d time.Duration) {
	over := make(chan struct{})
	timer := l.m.o.Clock.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
	case <-l.signal:
	}
}
