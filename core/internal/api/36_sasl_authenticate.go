package api

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/security"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// SaslAuthenticate (key 36), versions 0–2, and bare tokens after SaslHandshake v0.
//
// Behaviour: PLAIN. The authenticator may take its time, so it runs in the
// background, with bounds of its own: logins must not wait for topic creations, nor
// these for logins. A refusal is told connection.failed.authentication.delay.ms
// later, then the connection closes. An authenticator that gives no answer is no
// refusal: the connection closes at once, and clients try again.

// saslAuthenticate answers key 36.
func (a *API) saslAuthenticate(r *wire.Request) {
	var q kmsg.SASLAuthenticateRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	a.login(r, slices.Clone(q.SASLAuthBytes), func(out security.Outcome) {
		resp := kmsg.NewPtrSASLAuthenticateResponse()
		resp.ErrorCode = int16(out.Code)
		resp.SessionLifetimeMillis = out.Lifetime.Milliseconds()
		resp.SASLAuthBytes = []byte{}
		resp.ErrorMessage = &out.Message
		a.count(r, out.Code)
		r.ReplyMessage(resp)
	})
}

// saslToken answers a bare token: an empty one says that the client is accepted.
func (a *API) saslToken(r *wire.Request) {
	a.login(r, slices.Clone(r.Body), func(security.Outcome) {
		r.Reply(wire.NewResponse(r))
	})
}

// login finds out who the client is and answers.
func (a *API) login(r *wire.Request, token []byte, answer func(security.Outcome)) {
	if !a.logins.submit(r.Conn.ID, func(ctx context.Context) {
		out := a.deps.Gate.Authenticate(ctx, r.Conn, token)
		clear(token)
		if out.Close != nil {
			r.CloseAfter(out.Close)
		}
		switch {
		case out.Drop != nil:
			a.afterFailure(func() { r.Drop(out.Drop) })
		case out.Code == kafka.ErrSaslAuthenticationFailed:
			a.afterFailure(func() { answer(out) })
		default:
			answer(out)
		}
	}) {
		r.Drop(errBusy)
	}
}

// afterFailure calls f after the delay of failed logins, which holds back who
// guesses passwords and who comes back at once.
func (a *API) afterFailure(f func()) {
	delay := time.Duration(a.broker(a.image()).FailedAuthenticationDelayMS) * time.Millisecond
	if delay <= 0 {
		f()
		return
	}
	a.deps.Clock.AfterFunc(delay, f)
}

// admit says whether the sender of r may ask anything at all. If not, r has been
// answered.
//
// Hot: per request. 0 allocs: one atomic load.
func (a *API) admit(r *wire.Request) bool {
	i := r.Conn.Identity()
	if i != nil && (i.Until.IsZero() || r.Received.Before(i.Until)) {
		return true
	}
	switch r.Key {
	case wire.KeyAPIVersions, keySASLHandshake, keySASLAuthenticate, wire.KeyToken:
		return true
	}
	if i == nil {
		r.Drop(security.ErrOrder)
	} else {
		r.Drop(security.ErrExpired)
	}
	return false
}

// The keys that a client may use before it is known.
const (
	keySASLHandshake    int16 = 17
	keySASLAuthenticate int16 = 36
)
