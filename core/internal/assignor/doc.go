// Package assignor spreads the partitions of topics over the members of a KIP-848
// group: the server-side assignors "uniform" and "range" of Kafka 4.4.
//
// It owns the two rules and nothing else. It must not know groups, epochs, names
// that members subscribe to, or the cluster. It is pure: it keeps nothing between
// calls, changes none of its arguments and reads no clock. Its results do not depend
// on the order of members or on the order of a map.
//
// Range gives each topic in one run of numbers to each subscriber, static members
// first in the order of their instance ids, then the others in the order of their
// member ids, so that topics with as many partitions and the same subscribers line
// up. It ignores what members have now. The answer equals Kafka's (member ids are
// compared as bytes; Java compares UTF-16 units, which differ beyond U+FFFF only).
//
// Uniform evens out how many partitions members have, and moves as few as it can.
// When all members subscribe to the same topics, sizes differ by one at most. With
// different subscriptions it does what Kafka does: what nobody has goes to the
// subscriber with the fewest, then partitions move within each topic from those with
// the most to those with the fewest, for at most maxRounds rounds; so two members
// that share no topic may stay apart. Kafka leaves to the order of Java's hash tables
// which members get the extra partitions and which partitions they are; here members
// and topics are taken in the order of their ids. Given that order, the answer
// equals Kafka's, and a test compares it with Kafka's own classes; otherwise it is
// equal in sizes and in what moves. Kafka takes a group in which someone subscribes
// to a name that does not exist for one of different subscriptions; here topics that
// exist decide, which gives the same sizes.
//
// Racks: since 4.0 neither assignor of Kafka looks at racks, and neither does Range.
// Uniform uses what Kafka leaves open: among the partitions that it hands out anyway,
// a member gets those with a replica in its rack first. Sizes and what stays where it
// is are the same as without racks.
//
// Cost: time and memory in proportion to members, subscriptions and partitions
// together, and for different subscriptions to topics times their subscribers.
// Ten thousand partitions of 100 topics over a thousand members take 6 ms, and 19 ms
// when subscriptions differ (BenchmarkThousandMembers).
//
// Invariants of both results:
//   - Each partition of a topic that somebody subscribes to has exactly one owner.
//   - Each member is a key; nobody has a partition of a topic that it does not
//     subscribe to, and no topic without partitions is a key.
//   - The partitions of a topic are in ascending order.
package assignor
