package fileusers

import (
	"bytes"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// Bounds of hashes in a file: below, a stolen file gives passwords away too soon;
// above, a login costs the broker too much.
const (
	minIterations  = 10_000
	maxIterations  = 5_000_000
	maxBcryptCost  = 16
	minSaltBytes   = 8
	maxBcryptBytes = 72 // of a password: bcrypt does not look at more
)

// newIterations is for hashes that NewEntry makes (OWASP, PBKDF2-HMAC-SHA256).
const newIterations = 600_000

// passwordHash is what a password is checked against.
type passwordHash interface {
	// matches takes as long for a wrong password as for the right one.
	matches(password []byte) bool
	// dummy is a hash that costs the same and that no password has.
	dummy() passwordHash
}

// parseHash reads a hash in its usual text form.
func parseHash(text string) (passwordHash, error) {
	switch {
	case strings.HasPrefix(text, "$2"):
		return parseBcrypt(text)
	case strings.HasPrefix(text, "$pbkdf2-"):
		return parsePBKDF2(text)
	}
	return nil, errors.New("neither bcrypt ($2y$…) nor PBKDF2 ($pbkdf2-sha256$i=…): a password is never written as it is")
}

// bcryptHash is a bcrypt hash as text.
type bcryptHash []byte

func parseBcrypt(text string) (passwordHash, error) {
	cost, err := bcrypt.Cost([]byte(text))
	switch {
	case err != nil:
		return nil, err
	case len(text) != 60:
		return nil, fmt.Errorf("a bcrypt hash of %d characters, want 60", len(text))
	case cost > maxBcryptCost:
		return nil, fmt.Errorf("bcrypt cost %d, want at most %d", cost, maxBcryptCost)
	}
	return bcryptHash(text), nil
}

// matches refuses longer passwords than bcrypt looks at: two that begin alike would be
// the same to it.
func (h bcryptHash) matches(password []byte) bool {
	tooLong := len(password) > maxBcryptBytes
	return bcrypt.CompareHashAndPassword(h, password[:min(len(password), maxBcryptBytes)]) == nil && !tooLong
}

func (h bcryptHash) dummy() passwordHash { return never{h} }

// pbkdf2Hash is PBKDF2 with HMAC.
type pbkdf2Hash struct {
	name       string // sha256 or sha512
	hash       func() hash.Hash
	iterations int
	salt, key  []byte
}

// parsePBKDF2 reads $pbkdf2-sha256$i=ITERATIONS$SALT$KEY with unpadded base64.
func parsePBKDF2(text string) (passwordHash, error) {
	parts := strings.Split(strings.TrimPrefix(text, "$pbkdf2-"), "$")
	if len(parts) != 4 || !strings.HasPrefix(parts[1], "i=") {
		return nil, errors.New("want $pbkdf2-sha256$i=ITERATIONS$SALT$KEY")
	}
	h := pbkdf2Hash{name: parts[0]}
	switch h.name {
	case "sha256":
		h.hash = sha256.New
	case "sha512":
		h.hash = sha512.New
	default:
		return nil, fmt.Errorf("pbkdf2-%.16s: want sha256 or sha512", h.name)
	}
	var err error
	if h.iterations, err = strconv.Atoi(parts[1][2:]); err != nil || h.iterations < minIterations || h.iterations > maxIterations {
		return nil, fmt.Errorf("%.32s iterations, want %d to %d", parts[1][2:], minIterations, maxIterations)
	}
	if h.salt, err = base64.RawStdEncoding.DecodeString(parts[2]); err != nil || len(h.salt) < minSaltBytes {
		return nil, fmt.Errorf("a salt that is no base64 of at least %d bytes", minSaltBytes)
	}
	if h.key, err = base64.RawStdEncoding.DecodeString(parts[3]); err != nil || len(h.key) != h.hash().Size() {
		return nil, fmt.Errorf("a key that is no base64 of %d bytes", h.hash().Size())
	}
	return h, nil
}

// matches implements passwordHash. HMAC fills its key up with zeros, so a password and
// the same with zeros behind it have one hash: what holds a zero matches nothing.
func (h pbkdf2Hash) matches(password []byte) bool {
	key, err := pbkdf2.Key(h.hash, string(password), h.salt, h.iterations, len(h.key))
	return err == nil && subtle.ConstantTimeCompare(key, h.key) == 1 && bytes.IndexByte(password, 0) < 0
}

func (h pbkdf2Hash) dummy() passwordHash { return never{h} }

func (h pbkdf2Hash) String() string {
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$pbkdf2-%s$i=%d$%s$%s", h.name, h.iterations, text(h.salt), text(h.key))
}

// newHash is a PBKDF2 hash of a password with a salt of its own.
func newHash(password string, iterations int) (pbkdf2Hash, error) {
	h := pbkdf2Hash{name: "sha256", hash: sha256.New, iterations: iterations, salt: newSalt()}
	var err error
	h.key, err = pbkdf2.Key(h.hash, password, h.salt, h.iterations, sha256.Size)
	return h, err
}

func newSalt() []byte {
	salt := make([]byte, 16)
	rand.Read(salt) // never fails
	return salt
}

// never costs what another hash costs and has no password.
type never struct{ like passwordHash }

func (n never) matches(password []byte) bool {
	n.like.matches(password)
	return false
}

func (n never) dummy() passwordHash { return n }
