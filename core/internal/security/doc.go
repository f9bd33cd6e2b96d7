// Package security finds out who clients are (Gate) and says what they may do
// (Authorizer).
//
// It owns the SASL exchange of a connection, the memory of accepted credentials and
// of decisions, and what happens when a plugin that should know does not answer. It
// must not know what requests mean (room api), nor where plugins live: it is given
// values with sdk/auth's contracts.
//
// # Whatever goes wrong, nobody gets in
//
// A question has three answers: yes, no, and not known. Not known is never yes. It
// is not no either, for clients take "no" as final: the connection closes and the
// client tries again (Gate drops it, Authorizer's caller spoils the answer). Super
// users and anonymous clients are decided here; a plugin that gives somebody one of
// these names is not believed.
//
// Kafka answers UNKNOWN_SERVER_ERROR to the whole request when its authorizer throws,
// and most clients give up on that; a connection that closes is a broken network to all
// of them. It costs the client whose question had no answer its other requests on that
// connection too. No other client loses anything: who is decided from memory, by rules
// that were pushed or as a super user is not asked about. A broker that starts lets
// nobody in until the authorizers of its chain can decide (Await), or for so long that
// it gives up waiting.
//
// # What is remembered
//
// Accepted credentials: as an HMAC under a key of this process, at most
// auth.MaxAcceptTTL and their lifetime. Refusals are not. Decisions: by principal,
// groups, listener, operation and resource, and by host for plugins that use it;
// never by connection, or every reconnect would ask again. At most auth.MaxAllowTTL
// and MaxDenyTTL, and never longer than the policy's epoch; nor by rules of the cluster's
// store that newer ones replace, from the moment that this broker knows them. Both are bounded in
// number. While a plugin's Watch has been gone for watchGrace, new decisions are not
// remembered, so that a change that was not heard of lasts no longer than one TTL.
//
// A question that memory can't answer blocks the goroutine that asks, for at most
// the plugin's timeout: for an authorization that is the connection's own goroutine,
// so that a slow authorizer slows the client that needs it and nobody else.
//
// Cost: a decision from memory or by pushed rules allocates nothing.
//
// Invariants:
//   - The zero Answer is No.
//   - A decision is used only with the epoch that it was made in.
//   - A credential is kept in no form but its HMAC.
//
// Lock order: decisions', accepted's, complaint's and link's locks are leaves; none is held while a
// plugin is asked.
package security
