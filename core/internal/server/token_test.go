package server

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/wire"
)

// tokens answers the first request and then two bare tokens, each with itself.
func tokens(r *wire.Request) {
	if r.Key == wire.KeyToken {
		r.Conn.ExpectTokens(string(r.Body) != "last")
	} else {
		r.Conn.ExpectTokens(string(r.Body) == "handshake")
	}
	echo(r)
}

// bare is a token with its length.
func bare(token string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(token))), token...)
}

func TestTokensHaveNoHeaders(t *testing.T) {
	inWorld(t, Options{Handler: wire.HandlerFunc(tokens)}, func(w *world) {
		c := w.dial()
		w.send(c, frame(1, []byte("handshake")))
		expect(t, c, 1, []byte("handshake"))
		for _, token := range []string{"", "x", strings.Repeat("long", 1000), "last"} {
			b := bare(token)
			w.send(c, b[:2]) // in pieces
			w.send(c, b[2:])
			got := make([]byte, 4+len(token))
			if _, err := io.ReadFull(c, got); err != nil || string(got) != string(bare(token)) {
				t.Fatalf("answer %q, error %v; want %q", got, err, bare(token))
			}
		}
		w.send(c, frame(2, []byte("then as ever")))
		expect(t, c, 2, []byte("then as ever"))
	})
}

func TestTokensAreSmall(t *testing.T) {
	inWorld(t, Options{Handler: wire.HandlerFunc(tokens)}, func(w *world) {
		for _, size := range []uint32{maxToken + 1, 1 << 31} {
			c := w.dial()
			w.send(c, frame(1, []byte("handshake")))
			expect(t, c, 1, []byte("handshake"))
			w.send(c, binary.BigEndian.AppendUint32(nil, size))
			w.closed(c)
		}
	})
}

// Who is not known yet can't make the server take much.
func TestFramesBeforeAuthenticationAreSmall(t *testing.T) {
	forget := wire.HandlerFunc(func(r *wire.Request) {
		r.Conn.SetIdentity(nil)
		echo(r)
	})
	inWorld(t, Options{Handler: forget}, func(w *world) {
		c := w.dial()
		w.send(c, frame(1, make([]byte, maxUnauthenticated)))
		expect(t, c, 1, make([]byte, maxUnauthenticated))
		w.send(c, frame(2, make([]byte, maxUnauthenticated))[:100])
		w.closed(c)
	})
}

func TestCloseAfterLetsTheAnswerOut(t *testing.T) {
	inWorld(t, Options{Handler: wire.HandlerFunc(func(r *wire.Request) {
		if string(r.Body) == "last" {
			r.CloseAfter(errors.New("enough"))
		}
		echo(r)
	})}, func(w *world) {
		c := w.dial()
		w.send(c, append(frame(1, []byte("one")), frame(2, []byte("last"))...))
		expect(t, c, 1, []byte("one"))
		expect(t, c, 2, []byte("last"))
		w.closed(c)
		if !strings.Contains(w.log.String(), "enough") {
			t.Errorf("the log does not say why:\n%s", w.log.String())
		}
	})
}

func TestSpoiledAnswerDoesNotLeave(t *testing.T) {
	inWorld(t, Options{Handler: wire.HandlerFunc(func(r *wire.Request) {
		if string(r.Body) == "spoiled" {
			r.Spoil(errors.New("not known"))
		}
		echo(r)
	})}, func(w *world) {
		c := w.dial()
		w.send(c, append(frame(1, []byte("good")), frame(2, []byte("spoiled"))...))
		expect(t, c, 1, []byte("good"))
		w.closed(c)
	})
}
