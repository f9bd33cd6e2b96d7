package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/internal/quota"
	"github.com/mortisemq/mortise/core/wire"
)

// begun is the beginning of a frame of size bytes, of which n are there.
func begun(size uint32, n int) []byte {
	return append(binary.BigEndian.AppendUint32(nil, size), append([]byte{0, byte(keyEcho), 0, 0}, make([]byte, n-4)...)...)
}

// Few peers that announce large frames and send little must not keep others from
// the budget.
func TestAnnouncedBytesAreNotTaken(t *testing.T) {
	inWorld(t, Options{Budget: quota.NewBudget(64 << 20)}, func(w *world) {
		for range 10 {
			w.send(w.dial(), begun(100<<20, 3<<20/2))
		}
		synctest.Wait()
		good := w.dial()
		body := make([]byte, 200<<10)
		go good.Write(frame(1, body))
		start := time.Now()
		expect(t, good, 1, body)
		if d := time.Since(start); d > 0 {
			t.Errorf("answered after %v, want at once", d)
		}
	})
}

// When the budget is used up by frames that do not come on, they are closed.
func TestFramesAreHurriedWhenOthersWait(t *testing.T) {
	inWorld(t, Options{Budget: quota.NewBudget(8 << 20)}, func(w *world) {
		slow := []net.Conn{}
		for range 10 {
			c := w.dial()
			go c.Write(begun(50<<20, 1<<20)) // the last ones must wait
			slow = append(slow, c)
		}
		synctest.Wait()
		good := w.dial()
		body := make([]byte, 900<<10)
		go good.Write(frame(1, body))
		start := time.Now()
		expect(t, good, 1, body)
		if d := time.Since(start); d > 3*growWait {
			t.Errorf("answered after %v", d)
		}
		for _, c := range slow {
			go io.Copy(io.Discard, c)
		}
	})
}

// A frame that is larger than the whole budget is read when it is alone.
func TestFrameLargerThanTheBudget(t *testing.T) {
	inWorld(t, Options{Budget: quota.NewBudget(3 << 20)}, func(w *world) {
		c := w.dial()
		body := bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)
		go c.Write(frame(1, body))
		expect(t, c, 1, body)
		synctest.Wait()
		if used, _, _ := w.s.opt.Budget.Usage(); used != 0 {
			t.Errorf("%d bytes still charged", used)
		}
	})
}

func ordinary(int16) Nature { return Nature{} }

// What is made of an ordinary frame is many times its size.
func TestOrdinaryFramesAreBounded(t *testing.T) {
	inWorld(t, Options{Nature: ordinary}, func(w *world) {
		c := w.dial()
		c.Write(begun(MaxOrdinary+1, 4)) // may be cut off by the close
		w.closed(c)
		if !strings.Contains(w.log.String(), "want at most 8388608 for key 17") {
			t.Errorf("log: %s", w.log.String())
		}
		c = w.dial()
		body := make([]byte, MaxOrdinary-100)
		go c.Write(frame(1, body))
		expect(t, c, 1, body)
		synctest.Wait()
		if used, _, _ := w.s.decoding.Usage(); used != 0 {
			t.Errorf("%d bytes still taken", used)
		}
	})
}

// Large ordinary requests take turns, whatever connection they come from.
func TestOrdinaryRequestsTakeTurns(t *testing.T) {
	p := newParker()
	inWorld(t, Options{Handler: p, Nature: ordinary}, func(w *world) {
		body := append([]byte("park"), make([]byte, 5<<20)...)
		for range 5 {
			c := w.dial()
			go c.Write(frame(1, body))
		}
		synctest.Wait()
		if n := len(p.parked); n != 3 { // 5 MiB × 32 of 512 MiB
			t.Errorf("%d requests started, want 3", n)
		}
		for range 5 {
			(<-p.parked).ReplyNone()
		}
	})
}

// Requests that wait for others hold their weight only while their handler runs.
func TestPipelinedRequestsDoNotHoldTheirWeight(t *testing.T) {
	for _, n := range []Nature{{Pipelined: true}, {Waits: true}} {
		p := newParker()
		inWorld(t, Options{Handler: p, Nature: func(int16) Nature { return n }}, func(w *world) {
			body := append([]byte("park"), make([]byte, 5<<20)...)
			for range 5 {
				c := w.dial()
				go c.Write(frame(1, body))
			}
			synctest.Wait()
			if used, _, _ := w.s.decoding.Usage(); used != 0 || len(p.parked) != 5 {
				t.Errorf("%+v: %d bytes taken by %d parked requests, want none by 5", n, used, len(p.parked))
			}
			for range 5 {
				(<-p.parked).ReplyNone()
			}
		})
	}
}

// A peer that does not read has one ordinary answer waiting.
func TestOrdinaryRequestIsAnsweredBeforeTheNextStarts(t *testing.T) {
	p := newParker()
	inWorld(t, Options{Handler: p, Nature: ordinary}, func(w *world) {
		c := w.dial()
		for id := range int32(3) {
			w.send(c, frame(id, []byte("park")))
		}
		for id := range int32(3) {
			synctest.Wait()
			if n := len(p.parked); n != 1 {
				t.Fatalf("%d requests started, want 1", n)
			}
			echo(<-p.parked)
			expect(t, c, id, []byte("park"))
		}
	})
}

// When too many answers are unread, those who do not read are closed and the
// others go on.
func TestUnreadAnswersOfAll(t *testing.T) {
	large := wire.HandlerFunc(func(r *wire.Request) {
		resp := wire.NewResponse(r)
		resp.Append(func(b []byte) []byte { return append(b, make([]byte, len(r.Body))...) })
		r.Reply(resp)
	})
	inWorld(t, Options{Handler: large, Nature: ordinary}, func(w *world) {
		lazy, good := w.dial(), w.dial()
		w.send(lazy, frame(1, make([]byte, 1<<20)))
		synctest.Wait()
		mine := w.s.unread.Load()
		if mine < 1<<20 {
			t.Fatalf("%d bytes unread, want those of the answer", mine)
		}
		w.s.unread.Store(unreadLimit + mine/2) // as many such connections would
		start := time.Now()
		w.send(good, frame(2, []byte("x")))
		expect(t, good, 2, []byte{0})
		if d := time.Since(start); d < unreadGrace || d > unreadGrace+2*relieveEvery {
			t.Errorf("answered after %v, want %v after the lazy one's answer", d, unreadGrace)
		}
		if _, err := io.ReadAll(lazy); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Logf("lazy connection: %v", err)
		}
		synctest.Wait()
		if !strings.Contains(w.log.String(), errUnread.Error()) {
			t.Errorf("log: %s", w.log.String())
		}
		w.s.unread.Store(0)
	})
}
