package security

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
)

// acceptedMax bounds how many credentials are remembered: more users than that in a
// minute are rare, and then the authenticator is asked again.
const acceptedMax = 16 << 10

// accepted remembers credentials that were accepted a short while ago. It is safe
// for concurrent use.
type accepted struct {
	salt [sha256.Size]byte // of this process, so that its memory gives no hashes to attack

	mu      sync.Mutex
	entries map[[sha256.Size]byte]acceptance // guarded by mu
}

// acceptance is one that was accepted, and until when that counts.
type acceptance struct {
	result auth.Result
	since  time.Time
}

func newAccepted() *accepted {
	a := &accepted{entries: map[[sha256.Size]byte]acceptance{}}
	rand.Read(a.salt[:]) //nolint:errcheck // it never fails (crypto/rand)
	return a
}

// key is the one form in which a credential is kept, together with who accepted it.
func (a *accepted) key(listener string, generation uint64, p plainCredential) (key [sha256.Size]byte) {
	h := hmac.New(sha256.New, a.salt[:])
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], generation)
	h.Write(size[:])
	for _, part := range [...][]byte{[]byte(listener), []byte(p.user), p.password} {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write(part)
	}
	h.Sum(key[:0])
	return key
}

// get finds an acceptance that still counts. Its lifetime is what is left of it.
func (a *accepted) get(key [sha256.Size]byte, now time.Time) (auth.Result, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := a.entries[key]
	age := now.Sub(e.since)
	switch {
	case !ok:
		return auth.Result{}, false
	case age >= e.result.CacheTTL || age < 0:
		delete(a.entries, key)
		return auth.Result{}, false
	}
	if e.result.Lifetime > 0 {
		e.result.Lifetime -= age
	}
	return e.result, true
}

// put remembers an acceptance if it may be.
func (a *accepted) put(key [sha256.Size]byte, r auth.Result, now time.Time) {
	if r.CacheTTL <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.entries) >= acceptedMax {
		a.makeRoom(now)
	}
	a.entries[key] = acceptance{r, now}
}

// makeRoom forgets what has expired, or one that comes first. Caller holds mu.
func (a *accepted) makeRoom(now time.Time) {
	first := true
	for key, e := range a.entries {
		if now.Sub(e.since) >= e.result.CacheTTL {
			delete(a.entries, key)
		} else if first {
			delete(a.entries, key)
			first = false
		}
	}
}
