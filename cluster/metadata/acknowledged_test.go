package metadata

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/seeded"
)

// No clean election loses what was acknowledged, whatever min.insync.replicas was at
// the time. Beside the image runs a model of the logs: how many acknowledged records
// each replica has. A crash takes all of a replica's away. Records may be lost when an
// election was unclean, or when the one replica in sync crashed and leads on.
func TestElectionsKeepWhatWasAcknowledged(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		s := newStory(rt)
		logs := map[meta.PartitionID]*replicaLogs{}
		for id := range partitionsOf(s.image) {
			logs[id] = &replicaLogs{has: map[kafka.BrokerID]int{}}
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			before := partitionsOf(s.image)
			c := s.step()
			crash, crashed := c.(*RegisterBroker)
			crashed = crashed && !crash.CleanShutdown
			for id, p := range partitionsOf(s.image) {
				l, old := logs[id], before[id]
				trusted := append(slices.Concat(old.ISR, old.ELR), l.caughtUp(id, old, p, c)...)
				if crashed {
					l.has[crash.ID] = 0
					trusted = slices.DeleteFunc(trusted, func(id kafka.BrokerID) bool { return id == crash.ID })
				}
				mayLose := !slices.Contains(trusted, p.Leader)
				leadsOn := len(p.Replicas) == 1 || crashed && old.Leader == crash.ID && p.Leader == crash.ID && len(old.ISR) == 1
				if p.Leader != kafka.NoBroker && mayLose && !p.Recovering && !leadsOn {
					rt.Fatalf("%v: nothing says that %d was elected uncleanly: from %+v to %+v", id, p.Leader, old, p)
				}
				l.follow(p, mayLose)
				if p.Leader != kafka.NoBroker && l.has[p.Leader] < l.acknowledged {
					rt.Fatalf("%v: %d leads with %d of %d acknowledged records: from %+v to %+v by %T %+v",
						id, p.Leader, l.has[p.Leader], l.acknowledged, old, p, c, c)
				}
				l.produce(p, s.minISR(id, p))
			}
		}
	})
}

// minISR is the effective min.insync.replicas.
func (s *story) minISR(id meta.PartitionID, p meta.Partition) int {
	t, _ := s.image.TopicByID(id.Topic)
	n, _ := strconv.Atoi(s.image.TopicConfigText(t.Name, meta.MinISRConfig))
	return min(max(n, 1), len(p.Replicas))
}

// replicaLogs are the logs of one partition.
type replicaLogs struct {
	has          map[kafka.BrokerID]int // how many acknowledged records
	acknowledged int
}

// caughtUp are the replicas that have what the leader has, as it said in a change of
// the ISR.
func (l *replicaLogs) caughtUp(id meta.PartitionID, old, p meta.Partition, c Command) (ids []kafka.BrokerID) {
	alter, ok := c.(*AlterISR)
	if !ok || id != (meta.PartitionID{Topic: alter.Changes[0].Topic, Partition: alter.Changes[0].Partition}) || p.PartitionEpoch == old.PartitionEpoch {
		return nil
	}
	for _, r := range alter.Changes[0].ISR {
		l.has[r.ID] = l.has[old.Leader]
		ids = append(ids, r.ID)
	}
	return ids
}

// follow brings logs to where a change of the partition says they are.
func (l *replicaLogs) follow(p meta.Partition, mayLose bool) {
	if p.Leader == kafka.NoBroker {
		return
	}
	if mayLose {
		l.acknowledged = min(l.acknowledged, l.has[p.Leader])
	}
	for _, id := range p.Replicas {
		l.has[id] = min(l.has[id], l.has[p.Leader]) // it truncates to what the leader has
	}
}

// produce acknowledges a record if it may be.
func (l *replicaLogs) produce(p meta.Partition, minISR int) {
	if p.Leader == kafka.NoBroker || len(p.ISR) < minISR {
		return
	}
	l.acknowledged++
	for _, id := range p.ISR {
		l.has[id] = l.acknowledged
	}
}
