package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// AlterReplicaLogDirs (key 34), versions 1–2.
//
// Behaviour: partitions of this broker move to other log directories of it while they
// serve (package future). The directory that a partition is in already ends its move.
// For a partition that is not here yet the directory is remembered, until it is made or
// the broker stops, and the answer is an error. A directory that is named with a
// partition twice counts where it is named last. No copy is begun while a directory is
// offline: it may hold another one.
//
// It asks the disk, so it leaves the connection's goroutine.

// alterReplicaLogDirs answers key 34.
func (a *API) alterReplicaLogDirs(r *wire.Request) {
	q := new(kmsg.AlterReplicaLogDirsRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	allowed := a.authorizeCluster(r, OpAlter)
	a.later(r, func(context.Context) {
		resp := kmsg.NewPtrAlterReplicaLogDirsResponse()
		for _, m := range wantedMoves(q) {
			code := kafka.ErrClusterAuthorizationFailed
			if allowed {
				code = a.moveReplica(m.tp, m.dir)
			}
			if n := len(resp.Topics); n == 0 || resp.Topics[n-1].Topic != m.tp.Topic {
				t := kmsg.NewAlterReplicaLogDirsResponseTopic()
				t.Topic = m.tp.Topic
				resp.Topics = append(resp.Topics, t)
			}
			t := &resp.Topics[len(resp.Topics)-1]
			t.Partitions = append(t.Partitions, kmsg.AlterReplicaLogDirsResponseTopicPartition{Partition: m.tp.Partition, ErrorCode: int16(code)})
		}
		r.ReplyMessage(resp)
	})
}

// wantedMove is a partition and the directory that it shall be in.
type wantedMove struct {
	tp  kafka.TopicPartition
	dir string
}

// wantedMoves are the moves of a request by topic, each partition once.
func wantedMoves(q *kmsg.AlterReplicaLogDirsRequest) []wantedMove {
	byTopic := map[string][]wantedMove{}
	var topics []string
	at := map[kafka.TopicPartition]int{} // in the list of its topic
	for i := range q.Dirs {
		for j := range q.Dirs[i].Topics {
			t := &q.Dirs[i].Topics[j]
			if _, known := byTopic[t.Topic]; !known {
				topics = append(topics, t.Topic)
				byTopic[t.Topic] = nil
			}
			for _, n := range t.Partitions {
				m := wantedMove{kafka.TopicPartition{Topic: t.Topic, Partition: n}, q.Dirs[i].Dir}
				if k, twice := at[m.tp]; twice {
					byTopic[t.Topic][k] = m
					continue
				}
				at[m.tp] = len(byTopic[t.Topic])
				byTopic[t.Topic] = append(byTopic[t.Topic], m)
			}
		}
	}
	var all []wantedMove
	for _, t := range topics {
		all = append(all, byTopic[t]...)
	}
	return all
}

// moveReplica has one partition moved, with the checks in Kafka's order.
func (a *API) moveReplica(tp kafka.TopicPartition, path string) kafka.ErrorCode {
	dirs := a.deps.Dirs
	dir := dirs.ByPath(path)
	switch {
	case !logdir.FutureFits(tp):
		return kafka.ErrInvalidTopic
	case dir == nil:
		return kafka.ErrLogDirNotFound
	case dir.Offline() != nil:
		return kafka.ErrKafkaStorageError
	}
	p, code := a.deps.Roles.ByName(tp.Topic, tp.Partition)
	switch {
	case code == kafka.ErrNotLeaderOrFollower: // it is to come, or another broker's
		dirs.Prefer(tp, dir)
		return kafka.ErrReplicaNotAvailable
	case p == nil:
		dirs.Prefer(tp, dir)
		return code
	case p.Offline() != nil, p.Dir() != dir && anyOffline(dirs.Dirs()):
		return kafka.ErrKafkaStorageError
	}
	if err := a.deps.Moves.Move(p, dir); err != nil {
		a.deps.Log.Error("move to another log directory not begun", "partition", tp.String(), "to", path, "err", err)
		return kafka.ErrKafkaStorageError
	}
	return kafka.None
}

// anyOffline reports whether one of the directories is out of use.
func anyOffline(dirs []*logdir.Dir) bool {
	for _, d := range dirs {
		if d.Offline() != nil {
			return true
		}
	}
	return false
}
