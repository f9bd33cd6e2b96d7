package broker_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
)

// session is a connection whose bytes the test makes itself.
type session struct {
	net.Conn
	t *testing.T
}

// answer sends a frame and reads the answer; nil: the connection was closed.
func (s session) answer(frame []byte) []byte {
	s.t.Helper()
	if _, err := s.Write(frame); err != nil {
		return nil
	}
	var size [4]byte
	if _, err := io.ReadFull(s, size[:]); err != nil {
		return nil
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(s, body); err != nil {
		s.t.Fatal(err)
	}
	return body
}

// handshake agrees on PLAIN.
func (s session) handshake(version int16) {
	s.t.Helper()
	q := kmsg.NewPtrSASLHandshakeRequest()
	q.Version, q.Mechanism = version, "PLAIN"
	if body := s.answer(frame(q)); body == nil || binary.BigEndian.Uint16(body[4:]) != 0 {
		s.t.Fatalf("handshake: %x", body)
	}
}

// serves says whether an ordinary request is answered.
func (s session) serves() bool { return s.answer(frame(kmsg.NewPtrMetadataRequest())) != nil }

// plainToken is alice's.
const plainToken = "\x00alice\x00secret"

// sessions is a broker whose sessions end after a minute.
func sessions(t *testing.T) func() session {
	b := brokertest.Start(t, brokertest.Options{Static: config.Static{"connections.max.reauth.ms": "60000"},
		SASL: &broker.SASL{Mechanisms: []string{"PLAIN"}, Authenticator: &passwords{users: map[string]string{"alice": "secret"}}}})
	return func() session {
		conn, err := b.Dial()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return session{conn, t}
	}
}

// TestSEC02SessionsOfOldClientsEnd logs in by a bare token, as clients did before
// SaslAuthenticate: nothing can tell them to do so again, so the connection ends.
func TestSEC02SessionsOfOldClientsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sessions(t)()
		s.handshake(0)
		token := binary.BigEndian.AppendUint32(nil, uint32(len(plainToken)))
		if body := s.answer(append(token, plainToken...)); body == nil || len(body) != 0 {
			t.Fatalf("token: %x, want an empty answer", body)
		}
		if !s.serves() {
			t.Fatal("nothing is answered after the login")
		}
		time.Sleep(59 * time.Second)
		if !s.serves() {
			t.Error("the session ended before its time")
		}
		time.Sleep(2 * time.Second)
		if s.serves() {
			t.Error("the session goes on after its time")
		}
	})
}

// TestSEC01AuthenticationAnewExtendsTheSession logs in twice on one connection
// (KIP-368).
func TestSEC01AuthenticationAnewExtendsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sessions(t)()
		login := func() {
			t.Helper()
			s.handshake(1)
			q := kmsg.NewPtrSASLAuthenticateRequest()
			q.Version, q.SASLAuthBytes = 1, []byte(plainToken)
			if body := s.answer(frame(q)); body == nil || binary.BigEndian.Uint16(body[4:]) != 0 {
				t.Fatalf("login: %x", body)
			}
		}
		login()
		time.Sleep(50 * time.Second)
		login()
		time.Sleep(50 * time.Second)
		if !s.serves() {
			t.Error("the session ended with the first login's time")
		}
		time.Sleep(11 * time.Second)
		if s.serves() {
			t.Error("the session goes on after its time")
		}
	})
}
