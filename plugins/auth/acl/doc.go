// Package acl is Kafka's authorizer: the ACLs of the cluster's own store, decided as
// Kafka's StandardAuthorizer does.
//
// It owns no rule: the broker gives it the store's (auth.RuleTaker), and auth.Matcher
// decides by them. Until it has been given some it decides nothing: it answers that it
// is unavailable, and the broker neither allows nor says no. Super users and brokers are
// decided by the broker before any plugin is asked.
//
// A resource that no rule names is denied, as by Kafka, when the chain of authorizers
// ends here: this one abstains. With allow.everyone.if.no.acl.found it is allowed, as
// by Kafka with that setting.
//
// It does not push its rules to the broker, since they came from there: when it is
// compiled in, a decision is a call that takes less than a microsecond and is remembered
// until the rules change.
//
// It imports sdk/auth.
package acl
