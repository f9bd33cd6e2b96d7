// Package config is Kafka's configuration keys as data: name, type, default,
// check, synonyms, who may change it and when a change takes effect. From them,
// the config file and the cluster's dynamic values it derives the values that
// count for a broker or a topic, in typed form for code and in Kafka's described
// form (sources, synonyms) for clients.
//
// It owns names, defaults, ranges and the error texts that go with them, which
// are Kafka 4.4's to the letter because people and tools read them. It must not
// know who stores a value or what a value does.
//
// Precedence, highest first, as in Kafka: the topic's own value, the value of this
// broker, the cluster-wide default of all brokers, the config file, the key's
// default. Between broker keys that mean the same (log.retention.ms, .minutes,
// .hours) the finer unit wins, wherever it is set.
//
// Invariants:
//   - Every key in BrokerKeys is honoured, or it is the default of a topic key, or
//     it can't be set and states a fact. A key is not listed before that is so.
//   - A stored value that a check of today refuses (an older version took it) never
//     breaks a read: the next source in the order of precedence counts instead.
//   - Topic and Broker are immutable and shared by all who ask while nothing
//     changes; topics without values of their own share one Topic.
//
// Lock order: none; a Resolver has no locks, only atomic pointers.
package config
