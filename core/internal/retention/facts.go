package retention

import (
	"maps"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/sdk/storage"
)

// facts describes a partition's log for the question. ok is false when there is
// nothing to ask: another broker leads, the topic does not delete, or it is empty.
func facts(p *partition.Partition, nowMS int64, config func(topic string) map[string]string) (q question, ok bool) {
	role, c := p.Role(), p.Config().Topic
	if !role.Leading || p.Offline() != nil || !c.CleanupDelete || p.SizeBytes() == 0 {
		return q, false
	}
	if c.RetentionPlugins == nil && c.RetentionMS < 0 && c.RetentionBytes < 0 {
		return q, false
	}
	tp := p.TopicPartition()
	f := storage.LogFacts{
		Topic: tp.Topic, Partition: tp.Partition, LeaderEpoch: int32(role.Epoch), NowMS: nowMS,
		LogStart: int64(p.StartOffset()), HighWatermark: int64(p.HighWatermark()), LastStable: int64(p.LastStable()),
		RetentionMS: c.RetentionMS, RetentionBytes: c.RetentionBytes,
		Config: maps.Clone(config(tp.Topic)), // the plugin may do what it likes with it
	}
	for _, s := range p.Log().Segments() {
		f.Segments = append(f.Segments, storage.SegmentFacts{
			BaseOffset: int64(s.Base), NextOffset: int64(s.Next), Bytes: s.Bytes,
			MaxTimestampMS: s.MaxTimestamp, ModifiedMS: clock.Millis(s.LastModified), Active: s.Active,
		})
	}
	q = question{LogFacts: f, partition: p, rules: c.RetentionPlugins, minMS: c.RetentionMinMS}
	if q.rules == nil {
		q.rules = ownRules
	}
	return q, true
}
