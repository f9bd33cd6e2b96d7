// Package budget is retention by one budget of bytes, which topics share by weight.
//
//	{
//	  "bytes": 500000000000,
//	  "weights": {"orders": 3, "clickstream-*": 0.5, "*": 1},
//	  "keep": {"ms": 3600000, "bytes": 0}
//	}
//
// The bytes are those of the logs that one broker leads and that name this rule. A
// broker's disks also hold what it follows: with a replication factor of three, that is
// about twice as much again.
//
// A topic's weight is that of its name, or of the longest prefix with a star; 1 if
// nothing is said. While all topics together fit into the budget nothing goes. When they do
// not, the budget is divided by weight, and what a topic does not need of its share is
// divided among the others, again by weight (weighted max-min fairness): there is one
// level so that each topic may have level × weight, and the budget is used up. A topic
// within its share loses nothing, whatever others do. Of the others, the one that is
// furthest above its share by proportion loses its oldest segment, of whatever
// partition, then it is looked again, until all fit.
//
// A round with more logs than one question holds is asked about in several. LogFacts.Topics
// then has the bytes of all topics, so every question knows the same shares; a topic whose
// logs are in several questions loses in each as much of its excess as it has bytes
// there.
//
// keep is a floor for each partition: nothing younger than ms goes (an hour unless
// set), and at least bytes stay. The active segment never goes. So the budget is kept as far
// as whole segments above the floor allow, to within a segment for each topic.
//
// It owns that arithmetic and nothing else: no clock, no disk. It imports sdk/storage.
package budget
