package assignor

import (
	"slices"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
)

// Range is Kafka's assignor "range". It fails with ErrUnknownTopic only.
func Range(members []Member, topics map[kafka.TopicID]Topic) (Assignment, error) {
	p, err := newPlan(members, topics)
	if err != nil {
		return nil, err
	}
	for t := range p.topics {
		topic := &p.topics[t]
		slices.SortFunc(topic.subscribers, func(a, b int) int { return compareSeniority(p.members[a], p.members[b]) })
		next := int32(0)
		for i, m := range topic.subscribers {
			for range share(int(topic.Partitions), len(topic.subscribers), i) {
				p.give(seat{t, next}, m)
				next++
			}
		}
	}
	return p.result(), nil
}

// compareSeniority puts static members first, by instance id, then the others by
// member id: static members keep their ranges when they come back under another
// member id.
func compareSeniority(a, b Member) int {
	switch {
	case a.InstanceID != "" && b.InstanceID != "":
		return strings.Compare(a.InstanceID, b.InstanceID)
	case a.InstanceID != "":
		return -1
	case b.InstanceID != "":
		return 1
	}
	return strings.Compare(a.ID, b.ID)
}

// share is how many of n things the i-th of k takes when the first take one more.
func share(n, k, i int) int {
	if i < n%k {
		return n/k + 1
	}
	return n / k
}
