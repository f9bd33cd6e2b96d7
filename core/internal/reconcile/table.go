package reconcile

import (
	"hash/maphash"
	"maps"
	"sync/atomic"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Topic is a topic as this broker has it. It does not change once it is found.
type Topic struct {
	Name       string
	ID         kafka.TopicID
	Partitions []*partition.Partition // by number; nil: not on this broker

	image *meta.Topic // what it was made from
	// retry says that a log could not be opened for want of space or file handles:
	// the next image tries again.
	retry atomic.Bool
}

// shards is how many maps the table is cut into: a change copies one of them.
const shards = 256

// table finds topics by name and by id. Readers never wait; there is one writer.
type table struct {
	seed   maphash.Seed
	byName [shards]atomic.Pointer[map[string]*Topic]
	byID   [shards]atomic.Pointer[map[kafka.TopicID]*Topic]
}

// newTable makes an empty table.
func newTable() *table {
	t := &table{seed: maphash.MakeSeed()}
	for i := range shards {
		t.byName[i].Store(&map[string]*Topic{})
		t.byID[i].Store(&map[kafka.TopicID]*Topic{})
	}
	return t
}

// idShard is the shard of a topic id; ids are random.
func idShard(id kafka.TopicID) int { return int(id[15]) % shards }

// name finds a topic. Hot: per partition and request. 0 allocs.
func (t *table) name(name string) *Topic {
	return (*t.byName[maphash.String(t.seed, name)%shards].Load())[name]
}

// nameBytes finds a topic by a name in a request. Hot: 0 allocs.
func (t *table) nameBytes(name []byte) *Topic {
	return (*t.byName[maphash.Bytes(t.seed, name)%shards].Load())[string(name)]
}

// id finds a topic. Hot: per partition and request. 0 allocs.
func (t *table) id(id kafka.TopicID) *Topic { return (*t.byID[idShard(id)].Load())[id] }

// all calls yield with every topic, in no particular order.
func (t *table) all(yield func(*Topic) bool) {
	for i := range shards {
		for _, topic := range *t.byName[i].Load() {
			if !yield(topic) {
				return
			}
		}
	}
}

// change replaces topics: put are added, gone are removed. Each shard that is
// touched is copied once. There is one writer.
func (t *table) change(put, gone []*Topic) {
	names := map[uint64]map[string]*Topic{}
	ids := map[int]map[kafka.TopicID]*Topic{}
	nameShard := func(name string) map[string]*Topic {
		s := maphash.String(t.seed, name) % shards
		if names[s] == nil {
			names[s] = maps.Clone(*t.byName[s].Load())
		}
		return names[s]
	}
	idMap := func(id kafka.TopicID) map[kafka.TopicID]*Topic {
		s := idShard(id)
		if ids[s] == nil {
			ids[s] = maps.Clone(*t.byID[s].Load())
		}
		return ids[s]
	}
	for _, g := range gone {
		delete(idMap(g.ID), g.ID)
		if m := nameShard(g.Name); m[g.Name] != nil && m[g.Name].ID == g.ID {
			delete(m, g.Name)
		}
	}
	for _, p := range put {
		nameShard(p.Name)[p.Name] = p
		idMap(p.ID)[p.ID] = p
	}
	for s, m := range names {
		t.byName[s].Store(&m)
	}
	for s, m := range ids {
		t.byID[s].Store(&m)
	}
}
