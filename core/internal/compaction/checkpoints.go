package compaction

import (
	"fmt"
	"sync"

	"github.com/mortisemq/mortise/core/commitlog"
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
	log         *commitlog.Log
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
// for one that was dealt with. So it does after a move to another directory: the copy
// may be older than the last pass.
func (c *checkpoints) of(p *partition.Partition) (kafka.Offset, error) {
	log, dir := p.Home()
	now := seen{log, log.Truncations()}
	c.mu.Lock()
	defer c.mu.Unlock()
	tp, offsets := p.TopicPartition(), c.dir(dir)
	old, known := c.logs[tp]
	c.logs[tp] = now
	o, ok := offsets[tp]
	if known && old != now && ok { // written at once: the broker may be killed, and the log grow beyond it
		delete(offsets, tp)
		ok = false
		if err := dir.WriteCompacted(offsets); err != nil {
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

// forget drops what is known of a name in a directory: another log gets it.
func (c *checkpoints) forget(d *logdir.Dir, tp kafka.TopicPartition) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	offsets := c.dir(d)
	if _, known := offsets[tp]; !known {
		return nil
	}
	delete(offsets, tp)
	return d.WriteCompacted(offsets)
}

// set writes down up to where a log of p was compacted, and forgets logs that have
// left its directory. A log that p has left meanwhile is ErrChanged.
func (c *checkpoints) set(p *partition.Partition, of *commitlog.Log, o kafka.Offset) error {
	log, dir := p.Home()
	if log != of {
		return fmt.Errorf("%s: moved while it was compacted: %w", p.TopicPartition(), commitlog.ErrChanged)
	}
	here := map[kafka.TopicPartition]bool{}
	for _, r := range dir.Replicas() {
		here[r.TopicPartition()] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	offsets := c.dir(dir)
	for tp := range offsets {
		if !here[tp] {
			delete(offsets, tp)
			delete(c.logs, tp)
		}
	}
	offsets[p.TopicPartition()] = o
	return dir.WriteCompacted(offsets)
}
