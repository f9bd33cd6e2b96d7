package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/internal/quota"
	"github.com/mortisemq/mortise/core/vnet"
	"github.com/mortisemq/mortise/core/wire"
)

const address = "broker:9092"

// inWorld runs f against a server of opt in a bubble with fake time.
func inWorld(t *testing.T, opt Options, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, net: vnet.NewMem(1)}
		if opt.Handler == nil {
			opt.Handler = wire.HandlerFunc(echo)
		}
		opt.Versions, opt.Log = versions, slog.New(slog.NewTextHandler(&w.log, nil))
		w.s = New(opt)
		l, err := w.net.Host("broker").Listen(address)
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- w.s.Serve(l, "PLAINTEXT", wire.AnonymousIdentity()) }()
		synctest.Wait()
		defer func() { // also after Fatal, or the bubble reports a deadlock
			w.s.Close()
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		}()
		f(w)
	})
}

func TestFramesOfEverySize(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		c := w.dial()
		for id, n := range []int{0, 1, 100, 4000, 4096, 5000, 8170, 8192, 20000, 65536, 1<<20 - 100, 1 << 20, 3 << 20} {
			body := bytes.Repeat([]byte{byte(id + 1)}, n)
			go c.Write(frame(int32(id), body))
			expect(t, c, int32(id), body)
		}
		synctest.Wait()
		if used, _, _ := w.s.opt.Budget.Usage(); used != 0 {
			t.Errorf("%d bytes still charged after everything was answered", used)
		}
	})
}

// One byte at a time must give the same frames.
func TestFramesInPieces(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		c := w.dial()
		go func() {
			for id := range int32(3) {
				for _, b := range frame(id, bytes.Repeat([]byte("x"), int(id)*50)) {
					c.Write([]byte{b})
				}
			}
		}()
		for id := range int32(3) {
			expect(t, c, id, bytes.Repeat([]byte("x"), int(id)*50))
		}
	})
}

// parker keeps requests until they are told to answer.
type parker struct{ parked chan *wire.Request }

func (p parker) Handle(r *wire.Request) {
	if bytes.HasPrefix(r.Body, []byte("park")) {
		p.parked <- r
		return
	}
	echo(r)
}

func newParker() parker { return parker{make(chan *wire.Request, 100)} }

func TestParkedRequestDoesNotStopTheNext(t *testing.T) {
	p := newParker()
	inWorld(t, Options{Handler: p}, func(w *world) {
		c := w.dial()
		w.send(c, append(frame(1, []byte("park 1")), frame(2, []byte("park 2"))...))
		w.send(c, frame(3, []byte("three")))
		first, second := <-p.parked, <-p.parked
		synctest.Wait()
		echo(second)
		synctest.Wait()
		c.SetReadDeadline(time.Now().Add(time.Second))
		if _, _, err := answer(c); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("an answer overtook the first request: %v", err)
		}
		c.SetReadDeadline(time.Time{})
		echo(first)
		expect(t, c, 1, []byte("park 1"))
		expect(t, c, 2, []byte("park 2"))
		expect(t, c, 3, []byte("three"))
	})
}

func TestDisconnectCancelsParked(t *testing.T) {
	p := newParker()
	inWorld(t, Options{Handler: p}, func(w *world) {
		c := w.dial()
		w.send(c, frame(1, []byte("park")))
		r := <-p.parked
		cancelled := make(chan struct{})
		r.OnCancel(func() { close(cancelled) })
		c.Close()
		<-cancelled // a deadlock here: the waiter outlives its client
		late := false
		r.OnCancel(func() { late = true })
		if !late {
			t.Error("OnCancel after the death did nothing")
		}
		echo(r) // goes nowhere, frees the slot
		synctest.Wait()
		if n := w.s.m.inFlight.Load(); n != 0 {
			t.Errorf("%d requests in flight after the last was answered", n)
		}
	})
}

func TestDropClosesAfterEarlierAnswers(t *testing.T) {
	p := newParker()
	inWorld(t, Options{Handler: p}, func(w *world) {
		c := w.dial()
		w.send(c, append(frame(1, []byte("park 1")), frame(2, []byte("park 2"))...))
		first, second := <-p.parked, <-p.parked
		second.Drop(wire.ErrMalformed)
		synctest.Wait()
		echo(first)
		expect(t, c, 1, []byte("park 1"))
		w.closed(c)
		if !strings.Contains(w.log.String(), "malformed") {
			t.Errorf("log %q does not say why", w.log.String())
		}
	})
}

func TestReplyNoneKeepsTheOrder(t *testing.T) {
	h := wire.HandlerFunc(func(r *wire.Request) {
		if string(r.Body) == "none" {
			r.ReplyNone()
			return
		}
		echo(r)
	})
	inWorld(t, Options{Handler: h}, func(w *world) {
		c := w.dial()
		w.send(c, bytes.Join([][]byte{frame(1, []byte("none")), frame(2, []byte("a")), frame(3, []byte("none")), frame(4, []byte("b"))}, nil))
		expect(t, c, 2, []byte("a"))
		expect(t, c, 4, []byte("b"))
	})
}

func TestThrottleMutes(t *testing.T) {
	h := wire.HandlerFunc(func(r *wire.Request) {
		r.SetThrottle(3000)
		echo(r)
	})
	inWorld(t, Options{Handler: h}, func(w *world) {
		c := w.dial()
		start := time.Now()
		w.send(c, frame(1, nil))
		expect(t, c, 1, nil)
		if d := time.Since(start); d > time.Second {
			t.Fatalf("throttled answer after %v, want at once (KIP-219)", d)
		}
		w.send(c, frame(2, nil))
		expect(t, c, 2, nil)
		if d := time.Since(start); d < 3*time.Second {
			t.Errorf("the next request started after %v, want 3s", d)
		}
	})
}

func TestShutdownLetsAnswersOut(t *testing.T) {
	p := newParker()
	inWorld(t, Options{Handler: p}, func(w *world) {
		c, idle := w.dial(), w.dial()
		w.send(c, frame(1, []byte("park")))
		r := <-p.parked
		synctest.Wait() // both are accepted
		done := make(chan error, 1)
		go func() { done <- w.s.Shutdown(context.Background()) }()
		w.closed(idle)
		synctest.Wait()
		echo(r)
		expect(t, c, 1, []byte("park"))
		w.closed(c)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	p := newParker()
	inWorld(t, Options{Handler: p}, func(w *world) {
		c := w.dial()
		w.send(c, frame(1, []byte("park")))
		r := <-p.parked
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := w.s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v, want the context's end", err)
		}
		w.closed(c)
		echo(r)
	})
}

func TestInFlightLimitStopsReading(t *testing.T) {
	p := newParker()
	inWorld(t, Options{Handler: p, Limits: limits(Limits{InFlightRequests: 2})}, func(w *world) {
		c := w.dial()
		for id := range int32(5) {
			w.send(c, frame(id, []byte("park")))
		}
		synctest.Wait()
		if n := len(p.parked); n != 2 {
			t.Fatalf("%d requests started, want 2", n)
		}
		for id := range int32(5) {
			echo(<-p.parked)
			expect(t, c, id, []byte("park"))
		}
	})
}

func TestBudgetMakesReadersWait(t *testing.T) {
	p := newParker()
	budget := quota.NewBudget(200 << 10)
	inWorld(t, Options{Handler: p, Budget: budget}, func(w *world) {
		body := append([]byte("park"), make([]byte, 100<<10)...)
		a, b := w.dial(), w.dial()
		go a.Write(frame(1, body))
		first := <-p.parked
		go b.Write(frame(2, body))
		synctest.Wait()
		if _, _, waiting := budget.Usage(); len(p.parked) != 0 || waiting != 1 {
			t.Fatalf("%d more started, %d wait; want the second reader to wait", len(p.parked), waiting)
		}
		first.ReleaseBody() // early, as a produce that waits for replicas
		second := <-p.parked
		first.ReplyNone()
		echo(second)
		expect(t, b, 2, body)
		synctest.Wait()
		if used, _, _ := budget.Usage(); used != 0 {
			t.Errorf("%d bytes still charged", used)
		}
	})
}
