package peer

import (
	"errors"
	"strings"
	"testing"
)

func TestKeysKeepStrangersOut(t *testing.T) {
	_, a, b := pair(t)
	call := func(want string) {
		t.Helper()
		_, err := a.Call(t.Context(), 2, b.Advertised(), KindPing, nil)
		switch {
		case want == "" && err != nil:
			t.Errorf("not let in: %v", err)
		case want != "" && (!errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), want)):
			t.Errorf("%v, want %q", err, want)
		}
		a.mu.Lock()
		l := a.links[target{2, b.Advertised()}]
		a.mu.Unlock()
		if l != nil {
			l.giveUp() // the next call must dial again
		}
	}
	old, young := []byte("0123456789abcdef"), []byte("fedcba9876543210")
	b.SetKeys([][]byte{old})
	call("the cluster has a key, and this node does not")
	if _, ok := b.Heard(1); ok {
		t.Error("a node that proved nothing was believed where it is")
	}
	a.SetKeys([][]byte{young})
	call("does not have the cluster's key")
	a.SetKeys([][]byte{old, young}) // a rotation: known everywhere before it is used
	call("")
	b.SetKeys([][]byte{young, old})
	call("")
	a.SetKeys([][]byte{young})
	b.SetKeys([][]byte{young})
	call("")
	b.SetKeys(nil)
	call("does not have the cluster's key")
}

// A proof is worth nothing on another connection, nor for the other end.
func TestProofsAreForOneUse(t *testing.T) {
	key := []byte("0123456789abcdef")
	h, w := &hello{from: 1, to: 2, nonce: newNonce()}, &welcome{node: 2, nonce: newNonce()}
	p := prove(key, roleDialled, h, w)
	if !proven([][]byte{{1}, key}, roleDialled, h, w, p) {
		t.Error("a good proof is refused")
	}
	again, other := *w, *h
	again.nonce, other.nonce = newNonce(), newNonce()
	if proven([][]byte{key}, roleAnswered, h, w, p) || proven([][]byte{key}, roleDialled, h, &again, p) || proven([][]byte{key}, roleDialled, &other, w, p) || proven([][]byte{{1}}, roleDialled, h, w, p) {
		t.Error("a proof is taken for another one")
	}
}
