package transcript

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Dialer opens a connection to the broker under test.
type Dialer func() (net.Conn, error)

// answerWait bounds how long an answer may take; frameMax how long it may be, in bytes.
const (
	answerWait = time.Minute
	frameMax   = 128 << 20
)

// errClosed says that the broker closed the connection instead of answering.
var errClosed = errors.New("closed")

// conn is one connection of a transcript and what was sent on it without reading the answer.
type conn struct {
	net.Conn
	pending []sent
	corr    int32
}

// sent is a request whose answer is still to be read.
type sent struct {
	name    string
	version int16 // Of the answer's body; -1 prints hex.
	corr    int32
	raw     bool
}

func (c *conn) write(b []byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(answerWait)); err != nil {
		return err
	}
	_, err := c.Write(b)
	return err
}

// readFrame reads the next answer without its length.
func (c *conn) readFrame() ([]byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(answerWait)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return nil, fmt.Errorf("no answer within %v", answerWait)
		}
		return nil, errClosed
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > frameMax {
		return nil, fmt.Errorf("answer of %d bytes, want at most %d", n, frameMax)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, fmt.Errorf("answer of %d bytes: %w", n, err)
	}
	return b, nil
}
