package compaction

import (
	"sync"

	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

// checkpoints know how far each log was compacted.
type checkpoints struct {
	mu   sync.Mutex
	dirs map[*logdir.Dir]map[kafka.TopicPartition]kafka.Offset // guarded by mu
	logs map[kafka.TopicPartition]seen                         // guarded by mu
}

// seen is what was known of a log when its checkpoint was last looked at.
type seen struct {
	p           *partition.Partition
	truncations uint64
}

func newCheckpoints() *checkpoints {
	return &checkpoints{
		dirs: map[*logdir.Dir]map[kafka.TopicPartition]kafka.Offset{},
		logs: map[kafka.TopicPartition]seen{},
	}
}

// of is up to where the log of p was compacted, NoOffset when it is not known. After a
// truncation all of it counts as dirty: a tombstone that came again must not be taken
// for one that was dealt with.
func (c *checkpoints) of(p *partition.Partition) (kafka.Offset, error) {
	now := seen{p, p.Log().Truncations()}
	c.mu.Lock()
	defer c.mu.Unlock()
	tp, offsets := p.TopicPartition(), c.dir(p.Dir())
	old, known := c.logs[tp]
	c.logs[tp] = now
	o, ok := offsets[tp]
	if known && old != now && ok { // written at once: the broker may be killed, and the log grow beyond it
		delete(offsets, tp)
		ok = false
		if err := p.Dir().WriteCompacted(offsets); err != nil {
			return kafka.NoOffset, err
		}
	}
	if !ok {
		return kafka.NoOffset, nil
	}
	return o, nil
}

// peek is what of would say, without looking for truncations.
func (c *checkpoints) peek(p *partition.Partition) kafka.Offset {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, ok := c.dir(p.Dir())[p.TopicPartition()]; ok {
		return o
	}
	return kafka.NoOffset
}

// dir is a directory's checkpoints, read when they are first wanted. Caller holds mu.
func (c *checkpoints) dir(d *logdir.Dir) map[kafka.TopicPartition]kafka.Offset {
	offsets, ok := c.dirs[d]
	if !ok {
		offsets = d.ReadCompacted()
		c.dirs[d] = offsets
	}
	return offsets
}

// set writes down up to where the log of p was compacted, and forgets logs that have
// left its directory.
func (c *checkpoints) set(p *partition.Partition, o kafka.Offset) error {
	here := map[kafka.TopicPartition]bool{}
	for _, r := range p.Dir().Replicas() {
		here[r.TopicPartition()] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	offsets := c.dir(p.Dir())
	for tp := range offsets {
		if !here[tp] {
			delete(offsets, tp)
			delete(c.logs, tp)
		}
	}
	offsets[p.TopicPartition()] = o
	return p.Dir().WriteCompacted(offsets)
}
