package fileusers

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/sdk/auth"
)

// newScramIterations is for credentials that NewEntry makes: twice what Kafka takes
// unless told otherwise, since the client pays for them too.
const newScramIterations = 8192

// scramHash is the hash of a mechanism; nil if it is no mechanism of SCRAM.
func scramHash(mechanism string) func() hash.Hash {
	switch mechanism {
	case "SCRAM-SHA-256":
		return sha256.New
	case "SCRAM-SHA-512":
		return sha512.New
	}
	return nil
}

// parseScram reads a credential as Kafka writes it:
// salt=…,stored_key=…,server_key=…,iterations=… with base64.
func parseScram(mechanism, text string) (auth.ScramCredential, error) {
	c := auth.ScramCredential{Found: true}
	fields := map[string]*[]byte{"salt": &c.Salt, "stored_key": &c.StoredKey, "server_key": &c.ServerKey}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		if key == "iterations" && c.Iterations == 0 {
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil || n < auth.MinScramIterations || n > auth.MaxScramIterations {
				return c, fmt.Errorf("iterations %.32q, want %d to %d", value, auth.MinScramIterations, auth.MaxScramIterations)
			}
			c.Iterations = int32(n)
			continue
		}
		field := fields[key]
		if field == nil || *field != nil {
			return c, fmt.Errorf("%.32q is not known or comes twice", key)
		}
		var err error
		if *field, err = base64.StdEncoding.DecodeString(value); err != nil || len(*field) == 0 {
			return c, fmt.Errorf("%s is no base64", key)
		}
	}
	size := auth.ScramKeyBytes(mechanism)
	switch {
	case c.Iterations == 0 || c.Salt == nil || c.StoredKey == nil || c.ServerKey == nil:
		return c, fmt.Errorf("want salt, stored_key, server_key and iterations")
	case len(c.StoredKey) != size || len(c.ServerKey) != size:
		return c, fmt.Errorf("keys of %d and %d bytes, want %d", len(c.StoredKey), len(c.ServerKey), size)
	case len(c.Salt) > auth.MaxSaltBytes:
		return c, fmt.Errorf("a salt of %d bytes, want at most %d", len(c.Salt), auth.MaxSaltBytes)
	}
	return c, nil
}

// newScram is a credential of a password, as text.
func newScram(mechanism, password string, iterations int) (string, error) {
	salt := newSalt()
	stored, server, err := scramKeys(scramHash(mechanism), password, salt, iterations)
	if err != nil {
		return "", err
	}
	text := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("salt=%s,stored_key=%s,server_key=%s,iterations=%d", text(salt), text(stored), text(server), iterations), nil
}

// scramKeys are StoredKey and ServerKey of RFC 5802, section 3. Like Kafka's, the
// password is not normalized.
func scramKeys(h func() hash.Hash, password string, salt []byte, iterations int) (stored, server []byte, err error) {
	salted, err := pbkdf2.Key(h, password, salt, iterations, h().Size())
	if err != nil {
		return nil, nil, err
	}
	mac := func(text string) []byte {
		m := hmac.New(h, salted)
		m.Write([]byte(text))
		return m.Sum(nil)
	}
	digest := h()
	digest.Write(mac("Client Key"))
	return digest.Sum(nil), mac("Server Key"), nil
}

// cloneScram is a copy that the asker may change.
func cloneScram(c auth.ScramCredential) auth.ScramCredential {
	c.Salt, c.StoredKey, c.ServerKey = bytes.Clone(c.Salt), bytes.Clone(c.StoredKey), bytes.Clone(c.ServerKey)
	return c
}
