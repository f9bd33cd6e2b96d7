package membership

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hashicorp/memberlist"
)

// keysMax bounds a key ring: every packet that can't be read is tried with each key.
const keysMax = 16

// newRing is a key ring: the first key encrypts, all are tried for what arrives. No
// keys, no encryption.
func newRing(keys [][]byte) (*memberlist.Keyring, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	ring, err := memberlist.NewKeyring(keys, keys[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	return ring, nil
}

// checkKeys wants keys that a ring takes.
func checkKeys(keys [][]byte) error {
	if len(keys) > keysMax {
		return fmt.Errorf("%w: %d of them, and %d are allowed", ErrKeys, len(keys), keysMax)
	}
	for i, k := range keys {
		if err := memberlist.ValidateKey(k); err != nil {
			return fmt.Errorf("%w: the %d. key has %d bytes: %w", ErrKeys, i+1, len(k), err)
		}
	}
	return nil
}

// SetKeys replaces the key ring while gossip goes on. To rotate, every node first gets
// the new key behind the old one, then the new one first, then the new one alone. A
// node that began with keys can't do without, nor the other way round: the others would
// not understand it. Errors wrap ErrKeys; the ring is then as it was.
func (m *Membership) SetKeys(keys [][]byte) error {
	m.keysMu.Lock()
	defer m.keysMu.Unlock()
	switch {
	case len(keys) == 0 && m.ring == nil:
		return nil
	case len(keys) == 0 || m.ring == nil:
		return fmt.Errorf("%w: encryption is switched on and off by a restart", ErrKeys)
	}
	if err := checkKeys(keys); err != nil {
		return err
	}
	return replaceKeys(m.ring, keys)
}

// replaceKeys makes ring hold keys, the first of which encrypts. The library takes a
// key out of the very array that readers of the ring look at, unless it is the last;
// so the old ones are brought behind the new ones first.
func replaceKeys(ring *memberlist.Keyring, keys [][]byte) error {
	for _, k := range keys {
		if err := ring.AddKey(k); err != nil {
			return fmt.Errorf("%w: %w", ErrKeys, err)
		}
	}
	for _, k := range slices.Backward(keys) { // each goes to the front
		if err := ring.UseKey(k); err != nil {
			return fmt.Errorf("%w: %w", ErrKeys, err)
		}
	}
	held := slices.Clone(ring.GetKeys())
	for _, k := range slices.Backward(held) {
		if slices.ContainsFunc(keys, func(kept []byte) bool { return bytes.Equal(kept, k) }) {
			break
		}
		if err := ring.RemoveKey(k); err != nil {
			return fmt.Errorf("%w: %w", ErrKeys, err)
		}
	}
	return nil
}
