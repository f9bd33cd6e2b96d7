package fetcher

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// dialMax bounds how long a connection takes to be made, login and all.
const dialMax = 10 * time.Second

// dial connects to the leader and logs in.
func (l *link) dial() error {
	address, ok := l.m.o.Address(l.at.leader)
	if !ok {
		return fmt.Errorf("%w: broker %d", errUnreachable, l.at.leader)
	}
	wait := min(l.timeout(), dialMax)
	ctx, cancel := context.WithTimeout(l.m.ctx, wait)
	defer cancel()
	conn, err := l.m.o.Net.Dial(ctx, address)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	l.mu.Lock()
	l.dialed = conn
	if !l.ended {
		_ = conn.SetDeadline(l.m.o.Clock.Now().Add(wait)) // the login fails if this does
	} else {
		_ = conn.SetDeadline(longAgo)
	}
	l.mu.Unlock()
	if user, password := l.m.o.Credential(); user != "" {
		err = login(conn, l.m.clientID(l.at), user, password)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dialed = nil
	if err == nil && l.ended {
		err = l.m.ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return err
	}
	_ = conn.SetDeadline(time.Time{}) // what is read or written first sets it anew
	l.conn, l.bedtime, l.sendBy = conn, time.Time{}, time.Time{}
	l.m.stats.Connects.Add(1)
	l.m.stats.Connection.Add(1)
	l.heard = l.m.o.Clock.Now()
	return nil
}

// loginFrameMax bounds what a leader may answer to a login.
const loginFrameMax = 64 << 10

// login proves who this broker is with SASL PLAIN (RFC 4616).
func login(conn net.Conn, client, user, password string) error {
	const handshake, authenticate = 17, 36
	name := []byte("PLAIN")
	answer, err := exchange(conn, client, handshake, append(binary.BigEndian.AppendUint16(nil, uint16(len(name))), name...))
	if err != nil {
		return err
	}
	if code := kafka.ErrorCode(binary.BigEndian.Uint16(answer)); code != kafka.None {
		return fmt.Errorf("%w: the listener does not take PLAIN: %s", errLogin, code)
	}
	token := []byte("\x00" + user + "\x00" + password)
	answer, err = exchange(conn, client, authenticate, append(binary.BigEndian.AppendUint32(nil, uint32(len(token))), token...))
	if err != nil {
		return err
	}
	if code := kafka.ErrorCode(binary.BigEndian.Uint16(answer)); code != kafka.None {
		return fmt.Errorf("%w as %q: %s", errLogin, user, code)
	}
	return nil
}

// exchange sends one request of version 1 and returns the body of its answer, which
// has an error code at least.
func exchange(conn net.Conn, client string, api int16, body []byte) ([]byte, error) {
	frame := wire.AppendHeader(make([]byte, 4), &wire.Header{Key: api, Version: 1, CorrelationID: int32(api), ClientID: []byte(client)})
	frame = append(frame, body...)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	if _, err := conn.Write(frame); err != nil {
		return nil, fmt.Errorf("%w: send: %w", errLogin, err)
	}
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, fmt.Errorf("%w: read: %w", errLogin, err)
	}
	n := int(int32(binary.BigEndian.Uint32(head[:])))
	if n < 6 || n > loginFrameMax {
		return nil, fmt.Errorf("%w: an answer of %d bytes, want 6 to %d", errLogin, n, loginFrameMax)
	}
	answer := make([]byte, n)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return nil, fmt.Errorf("%w: read: %w", errLogin, err)
	}
	return answer[4:], nil
}
