package logdir

import (
	"fmt"
	"path"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
)

// CompactedFile names the checkpoint of how far logs were compacted, Kafka's
// cleaner-offset-checkpoint.
const CompactedFile = "cleaner-offset-checkpoint"

// ReadCompacted reads how far the directory's logs were compacted. A file that is
// missing or can't be read counts as empty: more is compacted than would be needed.
func (d *Dir) ReadCompacted() map[kafka.TopicPartition]kafka.Offset {
	name := path.Join(d.Path, CompactedFile)
	data, err := vfs.ReadFile(d.set.fs, name, maxCheckpointBytes)
	if isNotExist(err) {
		return map[kafka.TopicPartition]kafka.Offset{}
	}
	var c checkpoint
	if err == nil {
		c, err = parseCheckpoint(data)
	}
	if err != nil {
		d.set.log.Warn("checkpoint is not usable; starting without it", "dir", d.Path, "file", CompactedFile, "err", err)
		return map[kafka.TopicPartition]kafka.Offset{}
	}
	return c
}

// WriteCompacted replaces the file, durably.
func (d *Dir) WriteCompacted(offsets map[kafka.TopicPartition]kafka.Offset) error {
	if err := d.Offline(); err != nil {
		return fmt.Errorf("checkpoint %s: %w", CompactedFile, err)
	}
	var e encoder
	for tp, o := range offsets {
		e.add(tp, o)
	}
	return d.writeFile(CompactedFile, e.finish())
}
