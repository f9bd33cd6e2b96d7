package alterpartition

import (
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
)

// TestFailedPartitionsAreGivenAway: at once when a directory fails, later when the
// cluster counts on this broker again, and never for what has one copy.
func TestFailedPartitionsAreGivenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := kafka.NewTopicID()
		replicas := func(isr []kafka.BrokerID) []kafka.BrokerID {
			if len(isr) == 1 && isr[0] == 1 {
				return isr
			}
			return []kafka.BrokerID{1, 2}
		}
		image := func(index uint64, isr ...[]kafka.BrokerID) *meta.Image {
			topic := &meta.Topic{Name: "t", ID: id}
			for _, members := range isr {
				topic.Partitions = append(topic.Partitions, meta.Partition{Replicas: replicas(members), ISR: members, Leader: members[0], LeaderEpoch: 3, PartitionEpoch: kafka.PartitionEpoch(index)})
			}
			e := meta.Empty("c").Edit(index)
			e.PutTopic(topic)
			return e.Image()
		}
		// only is the one copy; the others have two.
		both, only, other := []kafka.BrokerID{1, 2}, []kafka.BrokerID{1}, []kafka.BrokerID{2}
		var img atomic.Pointer[meta.Image]
		img.Store(image(1, both, only, other, both))
		parts := &partition.Parts{Clock: clock.System{}, Purgatory: purgatory.New(purgatory.Options{}), Log: slog.New(slog.DiscardHandler), Metrics: metrics.NewRegistry()}
		var broken []*partition.Partition
		for n := range int32(5) { // the image does not know the last one
			broken = append(broken, partition.NewBroken(parts, kafka.TopicPartition{Topic: "t", Partition: n}, id, nil, nil, errors.New("broken")))
		}
		c := &court{decide: func(call int) ([]meta.ISRResult, error) {
			if call == 1 {
				return nil, errors.New("no majority")
			}
			return nil, nil
		}}
		s := newSender(t, c)
		s.o.Image = img.Load
		s.DirectoryFailed() // too early: nobody knows of it yet
		s.Watch(slices.Values(broken))
		time.Sleep(100 * time.Millisecond) // fake: the bubble's clock
		synctest.Wait()
		s.mu.Lock()
		var asked []int32
		for _, change := range slices.Concat(c.calls...) {
			if !change.Failed || change.LeaderEpoch != 3 || change.PartitionEpoch != 1 {
				t.Errorf("asked for %+v", change)
			}
			asked = append(asked, change.Partition)
		}
		slices.Sort(asked)
		if got := slices.Compact(asked); !slices.Equal(got, []int32{0, 3}) {
			t.Errorf("asked to leave partitions %v, want 0 and 3", got)
		}
		calls := len(c.calls)
		if calls < 2 {
			t.Errorf("%d calls: it did not ask again", calls)
		}
		s.mu.Unlock()

		img.Store(image(2, other, only, other, other))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(c.calls) != calls {
			t.Errorf("%d more calls after it has left", len(c.calls)-calls)
		}
		img.Store(image(3, other, both, other, other))
		s.DirectoryFailed()
		synctest.Wait()
		if last := c.calls[len(c.calls)-1]; len(last) != 1 || last[0].Partition != 1 {
			t.Errorf("asked for %+v", last)
		}
	})
}
