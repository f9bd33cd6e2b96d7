package consumergroup

import (
	"encoding/binary"
	"maps"
	"slices"
	"unicode/utf16"

	"github.com/zeebo/xxh3"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// names counts who would subscribe to each topic if a member took the place of
// another. old and next may be nil.
func (g *Group) namesWith(old, next *Member) map[string]subscribers {
	names := maps.Clone(g.names)
	oldRegex, nextRegex := "", ""
	if old != nil {
		countTopics(names, old.Topics, subscribers{names: -1})
		oldRegex = old.Regex
	}
	if next != nil {
		countTopics(names, next.Topics, subscribers{names: 1})
		nextRegex = next.Regex
	}
	if oldRegex != "" && oldRegex != nextRegex && g.regexes[oldRegex] == 1 {
		countTopics(names, g.resolved[oldRegex].Topics, subscribers{regexes: -1})
	}
	return names
}

// namesWithout counts who subscribes to each topic when members and the expressions
// that only they had are gone.
func (g *Group) namesWithout(gone []*Member, regexes []string) map[string]subscribers {
	names := maps.Clone(g.names)
	for _, m := range gone {
		countTopics(names, m.Topics, subscribers{names: -1})
	}
	for _, regex := range regexes {
		countTopics(names, g.resolved[regex].Topics, subscribers{regexes: -1})
	}
	return names
}

// hashTopics is Kafka's hash of the topics that a group subscribes to: when it
// changes, the group has to be assigned anew. It equals Kafka's, so that a broker of
// the one that takes over from the other does not rebalance everybody.
func hashTopics[V any](names map[string]V, img *meta.Image) int64 {
	var b, topic []byte
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if t, ok := img.Topic(name); ok {
			topic = appendTopic(topic[:0], t, img)
			b = binary.LittleEndian.AppendUint64(b, xxh3.Hash(topic))
		}
	}
	if len(b) == 0 {
		return 0
	}
	return int64(xxh3.Hash(b))
}

// appendTopic appends what the hash of a topic is made of: its id, name, partitions,
// and the racks of each partition's replicas.
func appendTopic(b []byte, t *meta.Topic, img *meta.Image) []byte {
	b = append(b, 0)
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(t.ID[:8]))
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(t.ID[8:]))
	b = appendUTF16(b, t.Name)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Partitions)))
	for p := range t.Partitions {
		b = binary.LittleEndian.AppendUint32(b, uint32(p))
		racks := racksOf(t, int32(p), img)
		slices.Sort(racks)
		for _, rack := range racks {
			b = binary.LittleEndian.AppendUint32(b, uint32(len(utf16.Encode([]rune(rack)))))
			b = appendUTF16(b, rack)
		}
	}
	return b
}

// appendUTF16 appends a text as Java's hash functions see it, and its length.
func appendUTF16(b []byte, s string) []byte {
	units := utf16.Encode([]rune(s))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return binary.LittleEndian.AppendUint32(b, uint32(len(units)))
}

// racksOf are the racks of a partition's replicas, as far as they are known.
func racksOf(t *meta.Topic, partition int32, img *meta.Image) (racks []string) {
	for _, id := range t.Partitions[partition].Replicas {
		if b, ok := img.Broker(id); ok && b.Rack != "" {
			racks = append(racks, b.Rack)
		}
	}
	return racks
}

// subscribedIDs are the topics that exist and that a member subscribes to, by name or
// by expression, sorted.
func (g *Group) subscribedIDs(m *Member, img *meta.Image) []kafka.TopicID {
	ids := make([]kafka.TopicID, 0, len(m.Topics))
	for _, names := range [...][]string{m.Topics, g.resolved[m.Regex].Topics} {
		for _, name := range names {
			if t, ok := img.Topic(name); ok {
				ids = append(ids, t.ID)
			}
		}
	}
	slices.SortFunc(ids, kafka.TopicID.Compare)
	return slices.Compact(ids)
}

// updateEpoch begins a new epoch of the group if it has to, or if the topics are not
// what they were.
func (g *Group) updateEpoch(env *Env, bump bool, names map[string]subscribers, p *plan) {
	hash := hashTopics(names, env.Image)
	if bump || hash != g.hash {
		p.epoch++
		p.add(setEpoch{p.epoch, hash})
	}
	p.checked = true
	if g.legacyTopics {
		p.add(dropTopics{})
	}
}
