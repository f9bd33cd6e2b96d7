// Package auth is the contract of plugins that say who a client is (Authenticator)
// and what it may do (Authorizer). It imports only the standard library.
//
// It owns the questions, the answers and the rules that both sides share. The core
// runs the protocols (SASL, the SCRAM arithmetic, TLS and its chains), decides which
// listener needs which plugin, and keeps super users and brokers to itself: they are
// decided before any plugin is asked. Rules are Kafka's ACLs; Matcher decides by them
// as Kafka does. News is a ready Watch.
//
// Obligations of an Authenticator. Whatever goes wrong, nobody gets in.
//
//  1. The zero Result rejects. Accept only what was verified.
//  2. The Nonce of the question is echoed in the answer.
//  3. An error, Unavailable or no answer in time (2 s by default) closes the
//     connection so that the client tries again; Reject tells it that the
//     credential is wrong. Do not say Reject when a backend is down.
//  4. Secrets are never logged, kept longer than the call, or put in Reason.
//  5. A principal's type and name are not empty and none of the reserved ones; the
//     core refuses User:ANONYMOUS, brokers and super users from a plugin. The type is
//     not Group, which rules use for groups, and the name is not *.
//  6. Every method is safe for concurrent use and returns soon after ctx is done.
//
// Obligations of an Authorizer. Whatever goes wrong, nothing is allowed.
//
//  1. out[i] answers Actions[i]. The zero Decision denies. An operation or a
//     resource type that is not known is denied or abstained from.
//  2. Authorize of many actions answers as many questions of one would.
//  3. Decisions depend on principal, groups, operation and resource only, and on the
//     client's address with FeatureUsesHost. The broker remembers them: at most
//     MaxAllowTTL and MaxDenyTTL, and until Watch tells of a newer epoch.
//  4. Watch sends the present epoch first, and a newer one within a second after the
//     policy changed. Epochs never go back while the instance lives.
//  5. With FeaturePush the broker does not ask: Watch sends rules and the core
//     matches them itself with a Matcher. Rules that Check refuses are not sent.
//  6. Every method is safe for concurrent use and returns soon after ctx is done
//     (100 ms by default for a decision).
package auth
