package broker

import (
	"github.com/mortisemq/mortise/core/internal/admin"
	"github.com/mortisemq/mortise/core/internal/partition"
)

// topic is the answer of /v1/topics/NAME.
func (b *Broker) topic(name string) (admin.Topic, bool) {
	roles := b.shown.roles.Load()
	if roles == nil {
		return admin.Topic{}, false
	}
	t := roles.Topic(name)
	if t == nil {
		return admin.Topic{}, false
	}
	out := admin.Topic{Topic: t.Name, TopicID: t.ID.String(), ClusterID: b.image().ClusterID, Broker: int32(b.options.NodeID), Partitions: []admin.TopicPartition{}}
	for _, p := range t.Partitions {
		if p != nil {
			out.Partitions = append(out.Partitions, b.topicPartition(p))
		}
	}
	return out, true
}

// topicPartition tells about one partition of this broker.
func (b *Broker) topicPartition(p *partition.Partition) admin.TopicPartition {
	out := admin.TopicPartition{Partition: p.TopicPartition().Partition, Leader: p.Role().Leading}
	if d := p.Dir(); d != nil {
		out.LogDir = d.Path
	}
	if err := p.Offline(); err != nil {
		out.Offline = err.Error()
	}
	if p.Log() == nil {
		return out
	}
	out.LogStartOffset, out.LogEndOffset = int64(p.StartOffset()), int64(p.EndOffset())
	out.HighWatermark, out.SizeBytes = int64(p.HighWatermark()), p.SizeBytes()
	out.Segments = p.Log().SegmentCount()
	if c := b.shown.compaction.Load(); c != nil {
		if st, ok := c.Status(p); ok {
			out.Cleaner = &admin.Cleaner{CleanedTo: int64(st.Done), CleanBytes: st.Clean, DirtyBytes: st.Dirty}
			if st.Failed != nil {
				out.Cleaner.Failed = st.Failed.Error()
			}
		}
	}
	return out
}
