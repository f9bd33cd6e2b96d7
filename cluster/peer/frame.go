package peer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// frameMax bounds one request or answer.
const frameMax = 32 << 20

// Bytes of a frame before its body, without the length.
const (
	requestHead = 8 + 1 + 4
	answerHead  = 8 + 2
)

// Kind says what a call is about. Numbers are never used again.
type Kind uint8

// The kinds of calls. Who handles one documents its body.
const (
	KindPing      Kind = 1 // is this node alive, and which start of it
	KindJoin      Kind = 2 // a node wants into the cluster
	KindPropose   Kind = 3 // a command for the control log
	KindCommitted Kind = 4 // how far the control log is decided
	KindQuorum    Kind = 5 // the state of the voters
	KindHeartbeat Kind = 6 // a broker's session
	KindMembers   Kind = 7 // a change of the members of the control plane
	KindGossip    Kind = 8 // where does this node gossip
	KindOffsets   Kind = 9 // what groups that this node coordinates have committed
)

// request is a call on its way.
type request struct {
	id      uint64
	kind    Kind
	timeout time.Duration // 0: none
	body    []byte
}

// answer is what came of a call.
type answer struct {
	id   uint64
	code kafka.ErrorCode
	body []byte // with a code: the error's message
}

// encode is the request's frame.
func (q *request) encode() []byte {
	b := make([]byte, 0, 4+requestHead+len(q.body))
	b = binary.BigEndian.AppendUint32(b, uint32(requestHead+len(q.body)))
	b = binary.BigEndian.AppendUint64(b, q.id)
	b = append(b, byte(q.kind))
	b = binary.BigEndian.AppendUint32(b, milliseconds(q.timeout))
	return append(b, q.body...)
}

// milliseconds of a time-out, rounded up; 0: none.
func milliseconds(d time.Duration) uint32 {
	return uint32(min((d+time.Millisecond-1)/time.Millisecond, math.MaxUint32))
}

// readRequest reads what encode wrote.
func readRequest(r io.Reader) (request, error) {
	b, err := readFrame(r, requestHead)
	if err != nil {
		return request{}, err
	}
	return request{id: binary.BigEndian.Uint64(b), kind: Kind(b[8]),
		timeout: time.Duration(binary.BigEndian.Uint32(b[9:])) * time.Millisecond, body: b[requestHead:]}, nil
}

// encode is the answer's frame.
func (a *answer) encode() []byte {
	b := make([]byte, 0, 4+answerHead+len(a.body))
	b = binary.BigEndian.AppendUint32(b, uint32(answerHead+len(a.body)))
	b = binary.BigEndian.AppendUint64(b, a.id)
	b = binary.BigEndian.AppendUint16(b, uint16(a.code))
	return append(b, a.body...)
}

// readAnswer reads what encode wrote.
func readAnswer(r io.Reader) (answer, error) {
	b, err := readFrame(r, answerHead)
	if err != nil {
		return answer{}, err
	}
	return answer{id: binary.BigEndian.Uint64(b),
		code: kafka.ErrorCode(binary.BigEndian.Uint16(b[8:])), body: b[answerHead:]}, nil
}

// readFrame reads a frame of at least head bytes. Memory grows with what arrives, not
// with what the length says.
func readFrame(r io.Reader, head int) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(length[:]))
	if n < int64(head) || n > frameMax {
		return nil, fmt.Errorf("%w: a frame of %d bytes, want %d to %d", errMalformed, n, head, frameMax)
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, n); err != nil {
		if err == io.EOF { //nolint:errorlint // io.CopyN gives it bare
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return body.Bytes(), nil
}
