// Package rules is an authorizer of a small file: who may, or must not, do what to
// which resources.
//
//	rules:
//	  - allow: [User:alice, Group:payments]
//	    to: [read, describe]
//	    topic: [orders-*, invoices]
//	  - deny: ["User:*"]
//	    to: [delete]
//	    topic: audit
//	    host: ["10.0.0.1"]
//	  - allow: ["User:*"]
//	    to: [all]
//	    topic: team-${principal}-*
//	    group: team-${principal}-*
//
// A rule names principals (Type:name; Group:name is a group; Type:* is everybody of that
// type, User:* everybody), operations by Kafka's names in lower case, and resources: topic,
// group, transactional-id, user, delegation-token, or cluster: true. A star at the end
// of a name makes it a prefix, a star alone is every name. host is where from; without
// it from anywhere. Each is a value or a list.
//
// They mean what the same ACLs mean to Kafka: a deny that matches wins, to allow read
// or write allows describe, a resource that rules name and do not allow is denied, and
// one that no rule names is left to the next authorizer of the chain, whose end denies.
//
// ${principal} in a name is the name of whoever asks. What follows it, up to a star,
// must not be empty when there is a star, and an allow is not for a principal whose own
// name has that text: with team-${principal}-* the user a must not reach what belongs
// to a user a-b. Such a rule names only its own client's resources, so that to others
// they are resources that no rule names.
//
// It owns the file (package livefile reads it again when it changes) and what it means.
// A file with a mistake changes nothing and is logged. It decides by auth.Matcher. It
// does not push rules to the broker: one with ${principal} is another rule for each
// client. Decisions are remembered until the file changes.
//
// The setting file names the file; rules instead of it has the same rules in the
// settings. It imports sdk/auth and a YAML parser.
package rules
