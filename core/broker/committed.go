package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/mortisemq/mortise/core/internal/coordinator"
	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/storage"
)

// Committed is what groups have committed for some topics, as far as one broker
// coordinates them.
type Committed struct {
	// Partitions are those of __consumer_offsets whose groups it tells of, all of them.
	Partitions []int32
	Groups     []GroupCommitted // without those that have committed nothing for the topics
}

// GroupCommitted is what one group has committed for one topic.
type GroupCommitted struct {
	Group, Topic string
	Partitions   []int32
	Offsets      []int64 // of each partition, the next that the group reads
}

// Committed is what the groups that this broker coordinates have committed for topics.
// Groups whose ids are no UTF-8 are left out: no rule can name them.
//
// Cost: a look at all groups, as for lags.
func (b *Broker) Committed(topics []string) Committed {
	var all Committed
	for _, n := range b.groups.Led() {
		var some []GroupCommitted
		whole := b.groups.OffsetsOf(n, func(id string, offsets map[string]map[int32]group.Offset) {
			if utf8.ValidString(id) {
				some = append(some, committedBy(id, offsets, topics)...)
			}
		})
		if whole {
			all.Partitions, all.Groups = append(all.Partitions, n), append(all.Groups, some...)
		}
	}
	return all
}

// committedBy is what one group has committed for topics.
func committedBy(id string, offsets map[string]map[int32]group.Offset, topics []string) (all []GroupCommitted) {
	for _, topic := range topics {
		if len(offsets[topic]) == 0 {
			continue
		}
		c := GroupCommitted{Group: id, Topic: topic}
		for _, n := range slices.Sorted(maps.Keys(offsets[topic])) {
			c.Partitions, c.Offsets = append(c.Partitions, n), append(c.Offsets, offsets[topic][n].At)
		}
		all = append(all, c)
	}
	return all
}

// committed are the offsets that groups of the whole cluster have committed for topics:
// each group is coordinated by the broker that leads its partition of __consumer_offsets.
// An error says that those of some groups are not known.
func (b *Broker) committed(ctx context.Context, topics map[string]bool) (map[kafka.TopicPartition][]storage.GroupOffset, error) {
	t, ok := b.image().Topic(coordinator.Topic)
	if !ok {
		return nil, nil // nobody has ever committed
	}
	answers, err := b.askCoordinators(ctx, t, slices.Sorted(maps.Keys(topics)))
	if err != nil {
		return nil, err
	}
	return mergeCommitted(len(t.Partitions), answers)
}

// askCoordinators asks the leader of each partition of __consumer_offsets, all at once.
func (b *Broker) askCoordinators(ctx context.Context, t *meta.Topic, topics []string) ([]Committed, error) {
	leaders := map[kafka.BrokerID]bool{}
	for n := range t.Partitions {
		leaders[t.Partitions[n].Leader] = true
	}
	type answer struct {
		Committed
		err error
	}
	come := make(chan answer, len(leaders))
	for id := range leaders {
		go func() {
			c, err := b.committedAt(ctx, id, topics)
			come <- answer{c, err}
		}()
	}
	var all []Committed
	var errs []error
	for range leaders {
		a := <-come
		all, errs = append(all, a.Committed), append(errs, a.err)
	}
	return all, errors.Join(errs...)
}

// committedAt asks one broker, which may be this one.
func (b *Broker) committedAt(ctx context.Context, id kafka.BrokerID, topics []string) (c Committed, err error) {
	switch {
	case id == b.options.NodeID:
		return b.Committed(topics), nil
	case id == kafka.NoBroker:
		return c, fmt.Errorf("offsets of groups: a partition of %s has no leader", coordinator.Topic)
	case b.options.Neighbours == nil:
		return c, fmt.Errorf("offsets of groups: there is no way to broker %d", id)
	}
	if c, err = b.options.Neighbours.Committed(ctx, id, topics); err != nil {
		return c, fmt.Errorf("offsets of groups of broker %d: %w", id, err)
	}
	return c, nil
}

// mergeCommitted puts answers together that have to tell of all partitions of
// __consumer_offsets. Two may tell of the same one while it moves: the lower offset
// counts, by which more is kept.
func mergeCommitted(partitions int, answers []Committed) (map[kafka.TopicPartition][]storage.GroupOffset, error) {
	known := make([]bool, partitions)
	lowest := map[kafka.TopicPartition]map[string]int64{}
	for _, c := range answers {
		for _, n := range c.Partitions {
			if n >= 0 && int(n) < partitions {
				known[n] = true
			}
		}
		for _, g := range c.Groups {
			if len(g.Partitions) != len(g.Offsets) {
				return nil, fmt.Errorf("offsets of group %q: %d partitions with %d offsets", g.Group, len(g.Partitions), len(g.Offsets))
			}
			for i, n := range g.Partitions {
				tp := kafka.TopicPartition{Topic: g.Topic, Partition: n}
				if lowest[tp] == nil {
					lowest[tp] = map[string]int64{}
				}
				if at, there := lowest[tp][g.Group]; !there || g.Offsets[i] < at {
					lowest[tp][g.Group] = g.Offsets[i]
				}
			}
		}
	}
	if n := slices.Index(known, false); n >= 0 {
		return nil, fmt.Errorf("offsets of groups: those of partition %d of %s are being loaded", n, coordinator.Topic)
	}
	all := make(map[kafka.TopicPartition][]storage.GroupOffset, len(lowest))
	for tp, groups := range lowest {
		for id, offset := range groups {
			all[tp] = append(all[tp], storage.GroupOffset{Group: id, Offset: offset})
		}
		slices.SortFunc(all[tp], func(x, y storage.GroupOffset) int { return cmp.Compare(x.Group, y.Group) })
	}
	return all, nil
}
