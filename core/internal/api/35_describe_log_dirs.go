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
// system is; null topics mean all. Copies of logs that move here (key 34) are there
// with how far they are behind. A directory that is offline has KAFKA_STORAGE_ERROR
// and no logs. It asks the file system, so it leaves the connection's goroutine.
//
// Not done: cordoned directories (version 5); there are none.

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
			resp.Dirs = append(resp.Dirs, a.describeDir(d, wanted))
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
func (a *API) describeDir(d *logdir.Dir, wanted map[kafka.TopicPartition]bool) kmsg.DescribeLogDirsResponseDir {
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
	logs := len(replicas)
	replicas = append(replicas, d.Futures()...)
	order := make([]int, len(replicas))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		a, b := replicas[x].TopicPartition(), replicas[y].TopicPartition()
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(x, y))
	})
	for _, i := range order {
		l := replicas[i]
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
		p.IsFuture = i >= logs
		p.OffsetLag = a.offsetLag(l, p.IsFuture)
		t.Partitions = append(t.Partitions, p)
	}
	return out
}

// offsetLag is how far a log is behind what is committed, or a copy behind its log.
func (a *API) offsetLag(l logdir.Replica, isFuture bool) int64 {
	until := l.HighWatermark()
	if isFuture {
		tp := l.TopicPartition()
		p, _ := a.deps.Roles.ByName(tp.Topic, tp.Partition)
		if p == nil || p.Log() == nil {
			return 0
		}
		until = p.EndOffset()
	}
	return max(int64(until-l.EndOffset()), 0)
}
