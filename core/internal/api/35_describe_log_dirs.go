package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// DescribeLogDirs (key 35), versions 1–5.
//
// Behaviour: every log directory with its logs, their sizes and how full the file
// system is; null topics mean all. A directory that is offline has
// KAFKA_STORAGE_ERROR and no logs. It asks the file system, so it leaves the
// connection's goroutine.
//
// Not done: future logs (moving between directories, key 34) and cordoned
// directories (version 5); there are none.

// describeLogDirs answers key 35.
func (a *API) describeLogDirs(r *wire.Request) {
	var q kmsg.DescribeLogDirsRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	if !a.authorizeCluster(r, OpDescribe) {
		resp.ErrorCode = int16(kafka.ErrClusterAuthorizationFailed)
		r.ReplyMessage(resp)
		return
	}
	a.later(r, func(context.Context) {
		wanted := wantedLogs(&q)
		for _, d := range a.deps.Dirs.Dirs() {
			resp.Dirs = append(resp.Dirs, describeDir(d, wanted))
		}
		r.ReplyMessage(resp)
	})
}

// wantedLogs is the set of logs that are asked for; nil: all.
func wantedLogs(q *kmsg.DescribeLogDirsRequest) map[kafka.TopicPartition]bool {
	if q.Topics == nil {
		return nil
	}
	wanted := map[kafka.TopicPartition]bool{}
	for i := range q.Topics {
		for _, n := range q.Topics[i].Partitions {
			wanted[kafka.TopicPartition{Topic: q.Topics[i].Topic, Partition: n}] = true
		}
	}
	return wanted
}

// describeDir describes one directory.
func describeDir(d *logdir.Dir, wanted map[kafka.TopicPartition]bool) kmsg.DescribeLogDirsResponseDir {
	out := kmsg.NewDescribeLogDirsResponseDir()
	out.Dir = d.Path
	if d.Offline() != nil {
		out.ErrorCode = int16(kafka.ErrKafkaStorageError)
		return out
	}
	if u, err := d.Usage(); err == nil {
		out.TotalBytes, out.UsableBytes = int64(u.Total), int64(u.Available)
	}
	replicas := d.Replicas()
	slices.SortFunc(replicas, func(x, y logdir.Replica) int {
		a, b := x.TopicPartition(), y.TopicPartition()
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	for _, l := range replicas {
		tp := l.TopicPartition()
		if wanted != nil && !wanted[tp] {
			continue
		}
		if n := len(out.Topics); n == 0 || out.Topics[n-1].Topic != tp.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = tp.Topic
			out.Topics = append(out.Topics, t)
		}
		t := &out.Topics[len(out.Topics)-1]
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size = tp.Partition, l.SizeBytes()
		p.OffsetLag = max(int64(l.HighWatermark()-l.EndOffset()), 0)
		t.Partitions = append(t.Partitions, p)
	}
	return out
}
