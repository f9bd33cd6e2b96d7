package server

import (
	"bytes"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/mortisemq/mortise/core/internal/quota"
	"github.com/mortisemq/mortise/core/wire"
)

// Answers that come from many goroutines in any order, of requests of any size
// under tight budgets, leave in order and with the right bytes.
func TestAnswersLeaveInOrder(t *testing.T) {
	h := wire.HandlerFunc(func(r *wire.Request) {
		switch rand.IntN(3) {
		case 0:
			echo(r)
		case 1:
			go echo(r)
		default:
			go func() {
				body := bytes.Clone(r.Body)
				r.ReleaseBody()
				resp := wire.NewResponse(r)
				resp.AddBody(wire.BytesBody(body))
				r.Reply(resp)
			}()
		}
	})
	budget := quota.NewBudget(1 << 20)
	s, first := onLoopback(t, Options{Handler: h, Budget: budget, Limits: limits(Limits{InFlightRequests: 20, InFlightBytes: 300 << 10})}, nil)
	var clients sync.WaitGroup
	for seed := range uint64(4) {
		clients.Go(func() {
			c, err := net.Dial("tcp", first.RemoteAddr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			talk(t, c, rand.New(rand.NewPCG(seed, 0)))
		})
	}
	clients.Wait()
	s.Close()
	if used, _, waiting := budget.Usage(); used != 0 || waiting != 0 {
		t.Errorf("%d bytes charged and %d waiting at the end", used, waiting)
	}
	if n := s.m.inFlight.Load(); n != 0 {
		t.Errorf("%d requests in flight at the end", n)
	}
}

// talk sends random requests without waiting and checks every answer.
func talk(t *testing.T, c net.Conn, r *rand.Rand) {
	const n = 300
	bodies := make([][]byte, n)
	for i := range bodies {
		size := r.IntN(500)
		if r.IntN(4) == 0 {
			size = r.IntN(200 << 10)
		}
		bodies[i] = bytes.Repeat([]byte{byte(i)}, size)
	}
	go func() {
		for i, b := range bodies {
			if _, err := c.Write(frame(int32(i), b)); err != nil {
				return
			}
		}
	}()
	for i, want := range bodies {
		id, got, err := answer(c)
		if err != nil || id != int32(i) || !bytes.Equal(got, want) {
			t.Errorf("answer %d of %d bytes, error %v; want %d of %d", id, len(got), err, i, len(want))
			return
		}
	}
}
