package broker

import (
	"sync/atomic"

	"github.com/mortisemq/mortise/core/internal/admin"
	"github.com/mortisemq/mortise/core/internal/compaction"
	"github.com/mortisemq/mortise/core/internal/future"
	"github.com/mortisemq/mortise/core/internal/lag"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/reconcile"
)

// shown is what the admin listener may look at while the broker starts.
type shown struct {
	dirs       atomic.Pointer[logdir.Set]
	roles      atomic.Pointer[reconcile.Roles]
	moves      atomic.Pointer[future.Mover]
	lags       atomic.Pointer[lag.Lags]
	compaction atomic.Pointer[compaction.Scheduler]
	plugins    atomic.Pointer[plugins]
}

// readiness is the answer of /readyz.
func (b *Broker) readiness() admin.Readiness {
	s := state(b.state.Load())
	r := admin.Readiness{Ready: s == stateRunning, State: s.String()}
	if dirs := b.shown.dirs.Load(); dirs != nil {
		r.Recovery = admin.Recovery{
			LogsTotal: dirs.Recovery.LogsTotal.Load(), LogsDone: dirs.Recovery.LogsDone.Load(),
			BytesTotal: dirs.Recovery.BytesTotal.Load(), BytesDone: dirs.Recovery.BytesDone.Load(),
		}
	}
	return r
}

// partitions calls yield for each partition of this broker.
func (b *Broker) partitions(yield func(admin.Partition) bool) {
	roles := b.shown.roles.Load()
	if roles == nil {
		return
	}
	for p := range roles.All {
		if p.Log() == nil {
			continue // it could not be opened: there is nothing to tell
		}
		tp := p.TopicPartition()
		if !yield(admin.Partition{
			Topic: tp.Topic, Partition: tp.Partition,
			LogStart: int64(p.StartOffset()), LogEnd: int64(p.EndOffset()), HighWatermark: int64(p.HighWatermark()),
			SizeBytes: p.SizeBytes(),
		}) {
			return
		}
	}
}
