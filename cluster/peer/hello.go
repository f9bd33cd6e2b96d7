package peer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/mortisemq/mortise/core/kafka"
)

// helloVersion is the version of everything that is said on a connection. Every version
// of a hello begins with the magic and the version, and the form of a welcome stays as it
// is, so that who is refused can always read why.
const helloVersion = 2

// helloMagic begins every connection, so that a client of another protocol is found
// out by its first bytes.
const helloMagic = "MRT"

// Purposes of a connection.
type purpose uint8

const (
	purposeStream purpose = 1
	purposeCalls  purpose = 2
)

// Instance tells one start of a node from another.
type Instance [16]byte

// hello is what the dialling end says first.
type hello struct {
	purpose  purpose
	format   uint16         // Options.Format
	from, to kafka.BrokerID // to is NoBroker when anybody will do
	cluster  string         // empty: not known yet
	address  string         // where from listens; empty: nowhere
	instance Instance
	nonce    nonce
}

// status is what a welcome says.
type status uint8

const (
	statusWelcome status = 0
	statusRefused status = 1
	statusProve   status = 2 // that you have the cluster's key; I do
	statusFormat  status = 3 // refused, because of the format
)

// welcome is the answer to a hello, or to a proof.
type welcome struct {
	status   status
	node     kafka.BrokerID
	cluster  string
	instance Instance
	nonce    nonce  // with statusProve
	proof    proof  // with statusProve
	reason   string // of a refusal
}

// refused says whether the other end wants nothing of this one.
func (w *welcome) refused() bool { return w.status == statusRefused || w.status == statusFormat }

// textMax is the longest text in a hello.
const textMax = 255

// appendText adds a text; what is longer than textMax is cut.
func appendText(b []byte, s string) []byte {
	s = s[:min(len(s), textMax)]
	return append(append(b, byte(len(s))), s...)
}

// encode is the hello's bytes.
func (h *hello) encode() []byte {
	b := append(make([]byte, 0, 64), helloMagic...)
	b = append(b, helloVersion, byte(h.purpose))
	b = binary.BigEndian.AppendUint16(b, h.format)
	b = binary.BigEndian.AppendUint32(b, uint32(h.from))
	b = binary.BigEndian.AppendUint32(b, uint32(h.to))
	b = appendText(appendText(b, h.cluster), h.address)
	return append(append(b, h.instance[:]...), h.nonce[:]...)
}

// readHello reads what encode wrote. Errors wrap errMalformed or errOtherVersion, or are
// the network's.
func readHello(r io.Reader) (hello, error) {
	var h hello
	first := make([]byte, len(helloMagic)+1)
	if _, err := io.ReadFull(r, first); err != nil {
		return h, err
	}
	if !bytes.HasPrefix(first, []byte(helloMagic)) {
		return h, fmt.Errorf("%w: it begins with %q", errMalformed, first[:len(helloMagic)])
	}
	if v := first[len(helloMagic)]; v != helloVersion {
		return h, fmt.Errorf("%w: it speaks version %d between nodes, and you speak %d", errOtherVersion, helloVersion, v)
	}
	head := make([]byte, 1+2+4+4)
	if _, err := io.ReadFull(r, head); err != nil {
		return h, err
	}
	h.purpose = purpose(head[0])
	if h.purpose != purposeStream && h.purpose != purposeCalls {
		return h, fmt.Errorf("%w: purpose %d", errMalformed, head[0])
	}
	h.format = binary.BigEndian.Uint16(head[1:])
	h.from = kafka.BrokerID(binary.BigEndian.Uint32(head[3:]))
	h.to = kafka.BrokerID(binary.BigEndian.Uint32(head[7:]))
	var err error
	if h.cluster, err = readText(r); err != nil {
		return h, err
	}
	if h.address, err = readText(r); err != nil {
		return h, err
	}
	return h, readFull(r, h.instance[:], h.nonce[:])
}

// readFull fills each of the parts.
func readFull(r io.Reader, parts ...[]byte) error {
	for _, part := range parts {
		if _, err := io.ReadFull(r, part); err != nil {
			return err
		}
	}
	return nil
}

// encode is the welcome's bytes.
func (w *welcome) encode() []byte {
	b := append(make([]byte, 0, 128), byte(w.status))
	b = binary.BigEndian.AppendUint32(b, uint32(w.node))
	b = appendText(b, w.cluster)
	b = append(append(append(b, w.instance[:]...), w.nonce[:]...), w.proof[:]...)
	return appendText(b, w.reason)
}

// readWelcome reads what encode wrote.
func readWelcome(r io.Reader) (welcome, error) {
	var w welcome
	head := make([]byte, 1+4)
	if _, err := io.ReadFull(r, head); err != nil {
		return w, err
	}
	if w.status = status(head[0]); w.status > statusFormat {
		return w, fmt.Errorf("%w: status %d", errMalformed, head[0])
	}
	w.node = kafka.BrokerID(binary.BigEndian.Uint32(head[1:]))
	var err error
	if w.cluster, err = readText(r); err != nil {
		return w, err
	}
	if err := readFull(r, w.instance[:], w.nonce[:], w.proof[:]); err != nil {
		return w, err
	}
	w.reason, err = readText(r)
	return w, err
}

// readText reads a text of at most textMax bytes.
func readText(r io.Reader) (string, error) {
	var n [1]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return "", err
	}
	b := make([]byte, n[0])
	_, err := io.ReadFull(r, b)
	return string(b), err
}
