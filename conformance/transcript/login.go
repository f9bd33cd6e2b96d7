package transcript

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ownConn is the player's own connection, for what directives do.
const ownConn = "(player)"

// administrator is who the player itself is in a transcript with logins.
const administrator = "admin"

// Password is the password of a user of transcripts, the same on every broker that
// they are played against.
func Password(user string) string { return user + "-secret" }

// login makes a connection a user's, from its next opening on.
func (p *player) login(user, conn string) {
	p.users[conn] = user
	p.users[ownConn] = administrator
	p.drop(conn)
	p.drop(ownConn)
}

// authenticate logs a new connection in by SASL PLAIN.
func (c *conn) authenticate(user string) error {
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.SetVersion(1)
	handshake.Mechanism = "PLAIN"
	resp, err := c.call(handshake)
	if err != nil {
		return fmt.Errorf("login of %s: %w", user, err)
	}
	if code := resp.(*kmsg.SASLHandshakeResponse).ErrorCode; code != 0 {
		return fmt.Errorf("login of %s: %s", user, errorName(code))
	}
	token := kmsg.NewPtrSASLAuthenticateRequest()
	token.SetVersion(2)
	token.SASLAuthBytes = []byte("\x00" + user + "\x00" + Password(user))
	if resp, err = c.call(token); err != nil {
		return fmt.Errorf("login of %s: %w", user, err)
	}
	if code := resp.(*kmsg.SASLAuthenticateResponse).ErrorCode; code != 0 {
		return fmt.Errorf("login of %s: %s", user, errorName(code))
	}
	return nil
}

// call sends a request and reads its answer.
func (c *conn) call(req kmsg.Request) (kmsg.Response, error) {
	c.corr++
	if err := c.write(kmsg.NewRequestFormatter().AppendRequest(nil, req, c.corr)); err != nil {
		return nil, err
	}
	frame, err := c.readFrame()
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	skip := 4
	if resp.IsFlexible() {
		skip = 5
	}
	if len(frame) < skip {
		return nil, fmt.Errorf("answer of %d bytes, want at least %d", len(frame), skip)
	}
	return resp, resp.ReadFrom(frame[skip:])
}
