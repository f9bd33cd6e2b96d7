package assignor

import (
	"errors"

	"github.com/mortisemq/mortise/core/kafka"
)

// ErrUnknownTopic says that a member subscribes to a topic that was not described.
var ErrUnknownTopic = errors.New("a member subscribes to a topic that is not described")

// Member is one member of a group as an assignor sees it.
type Member struct {
	ID         string
	InstanceID string // Empty for a dynamic member.
	RackID     string // Empty when unknown.

	// Topics are the topics that it subscribes to, sorted by their bytes, each once.
	Topics []kafka.TopicID

	// Current is the target that it had so far. Partitions of topics that it no longer
	// subscribes to, that do not exist or that an earlier member has are ignored.
	Current map[kafka.TopicID][]int32
}

// Topic describes one topic that somebody subscribes to.
type Topic struct {
	ID         kafka.TopicID
	Name       string
	Partitions int32

	// Racks lists the racks with a replica of a partition. Nil: unknown.
	Racks func(partition int32) []string
}

// Assignment is what each member of a group gets: by member id, then by topic, the
// partitions in ascending order.
type Assignment = map[string]map[kafka.TopicID][]int32
