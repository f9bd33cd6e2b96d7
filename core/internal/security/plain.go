package security

import (
	"bytes"
	"fmt"
)

// wrongPassword is what Kafka says, whichever of the two is wrong.
const wrongPassword = "Authentication failed: Invalid username or password"

// plainCredential is what a PLAIN token says.
type plainCredential struct {
	user     string
	password []byte
}

// parsePlain reads a token of RFC 4616: an authorization id, which must be empty or
// the user, the user and the password, with zero bytes between. The refusal is for
// the client, in Kafka's words; empty: none.
func parsePlain(token []byte) (c plainCredential, refusal string) {
	parts := bytes.Split(token, []byte{0})
	switch {
	case len(parts) != 3:
		return c, fmt.Sprintf("Invalid SASL/PLAIN response: expected 3 tokens, got %d", len(parts))
	case len(parts[1]) == 0:
		return c, "Authentication failed: username not specified"
	case len(parts[2]) == 0:
		return c, "Authentication failed: password not specified"
	case len(parts[0]) > 0 && !bytes.Equal(parts[0], parts[1]):
		return c, "Authentication failed: Client requested an authorization id that is different from username"
	}
	return plainCredential{user: string(parts[1]), password: parts[2]}, ""
}
