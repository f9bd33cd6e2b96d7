package broker

import (
	"github.com/mortisemq/mortise/core/internal/future"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// startMoves takes up the moves between log directories that were not ended.
func (b *Broker) startMoves() {
	o := &b.options
	b.moves = future.New(future.Options{Dirs: b.dirs, Copy: b.roles.CopyOptions,
		Partition: func(tp kafka.TopicPartition) *partition.Partition {
			p, _ := b.roles.ByName(tp.Topic, tp.Partition)
			return p
		},
		Forget: func(d *logdir.Dir, tp kafka.TopicPartition) error {
			if b.compaction == nil {
				return nil
			}
			return b.compaction.Forget(d, tp)
		},
		Threads: b.config().MoveThreads, Clock: o.Clock, Log: b.log("future"), Metrics: o.Metrics})
	b.roles.Observe(func(*meta.Image) {
		b.moves.SetRate(b.moveRate())
		b.setThrottles()
		b.followers.Resize()
	})
	b.shown.moves.Store(b.moves)
	b.moves.Resume()
}

// moveRate is how many bytes in a second moves copy by the config of this moment.
func (b *Broker) moveRate() float64 { return float64(b.config().MoveBytesPerSecond) }
