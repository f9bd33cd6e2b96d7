package peer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// nonce is what one end wants the other to sign, so that an old proof is worth nothing.
type nonce [16]byte

// newNonce is one that was never used before.
func newNonce() (n nonce) {
	rand.Read(n[:]) //nolint:errcheck // never fails, by its contract
	return n
}

// proof shows that an end has a key.
type proof [sha256.Size]byte

// Roles in a proof: that of one end is worth nothing for the other.
const (
	roleDialled  = 'd'
	roleAnswered = 'a'
)

// prove signs a hello and what the other end answered.
func prove(key []byte, role byte, h *hello, w *welcome) (p proof) {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte{role}) // a hash takes everything
	_, _ = mac.Write(h.encode())
	_, _ = mac.Write(binary.BigEndian.AppendUint32(w.nonce[:], uint32(w.node)))
	mac.Sum(p[:0])
	return p
}

// proven says whether a proof is by one of the keys.
func proven(keys [][]byte, role byte, h *hello, w *welcome, p proof) bool {
	for _, key := range keys {
		if want := prove(key, role, h, w); hmac.Equal(want[:], p[:]) {
			return true
		}
	}
	return false
}

// SetKeys has both ends of new connections prove that they have a key of the cluster:
// the first one is used, all are accepted. Without keys nothing is proven. What is said
// afterwards is neither encrypted nor signed: keys keep strangers out, not somebody
// who sits on the wire.
func (p *Port) SetKeys(keys [][]byte) { p.keys.Store(&keys) }

// challenge has the end that dialled prove itself; an error is for it to read.
func (p *Port) challenge(c io.ReadWriter, h *hello) (reason string, err error) {
	keys := *p.keys.Load()
	if len(keys) == 0 {
		return "", nil
	}
	w := welcome{status: statusProve, node: p.options.Node, cluster: p.Cluster(), instance: p.instance, nonce: newNonce()}
	w.proof = prove(keys[0], roleAnswered, h, &w)
	if _, err := c.Write(w.encode()); err != nil {
		return "", err
	}
	var got proof
	if _, err := io.ReadFull(c, got[:]); err != nil {
		return "", err
	}
	if !proven(keys, roleDialled, h, &w, got) {
		return fmt.Sprintf("node %d does not have the cluster's key", h.from), nil
	}
	return "", nil
}

// errNoProof says that the end that answered does not have the cluster's key.
var errNoProof = errors.New("the one who answers does not have the cluster's key")

// errNoKey says that this node lacks the cluster's key.
var errNoKey = errors.New("the cluster has a key, and this node does not")

// answerChallenge proves this end and has the other one do so; it reads the last word.
func (p *Port) answerChallenge(c io.ReadWriter, h *hello, w welcome) (welcome, error) {
	keys := *p.keys.Load()
	switch {
	case w.refused():
		return w, nil
	case w.status == statusWelcome && len(keys) == 0:
		return w, nil
	case w.status == statusWelcome:
		return w, errNoProof
	case len(keys) == 0:
		return w, errNoKey
	case !proven(keys, roleAnswered, h, &w, w.proof):
		return w, errNoProof
	}
	mine := prove(keys[0], roleDialled, h, &w)
	if _, err := c.Write(mine[:]); err != nil {
		return w, err
	}
	last, err := readWelcome(c)
	if err == nil && last.status == statusProve {
		err = fmt.Errorf("%w: asked for a proof twice", errMalformed)
	}
	return last, err
}
