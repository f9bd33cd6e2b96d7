package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/wire"
)

// SaslHandshake (key 17), versions 0–1.
//
// Behaviour: the client names a SASL mechanism; one that the listener lacks is
// answered with those that it has, and the connection closes. After version 0 the
// client sends bare tokens, after version 1 SaslAuthenticate. On a listener without
// SASL, and after authentication (unless connections.max.reauth.ms asks for it anew),
// the answer is ILLEGAL_SASL_STATE.

// saslHandshake answers key 17.
func (a *API) saslHandshake(r *wire.Request) {
	var q kmsg.SASLHandshakeRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	h := a.deps.Gate.Handshake(r.Conn, q.Mechanism, q.Version)
	if h.Drop != nil {
		r.Drop(h.Drop)
		return
	}
	resp := kmsg.NewPtrSASLHandshakeResponse()
	resp.ErrorCode = int16(h.Code)
	resp.SupportedMechanisms = h.Mechanisms
	a.count(r, h.Code)
	if h.Close != nil {
		r.CloseAfter(h.Close)
	}
	r.ReplyMessage(resp)
}
