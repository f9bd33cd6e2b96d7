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

// broken is n partitions of the topic with the id whose logs can't be used.
func broken(id kafka.TopicID, n int32) (all []*partition.Partition) {
	parts := &partition.Parts{Clock: clock.System{}, Purgatory: purgatory.New(purgatory.Options{}), Log: slog.New(slog.DiscardHandler), Metrics: metrics.NewRegistry()}
	for k := range n {
		all = append(all, partition.NewBroken(parts, kafka.TopicPartition{Topic: "t", Partition: k}, id, nil, nil, errors.New("broken")))
	}
	return all
}

// pair is the image of brokers 1 and 2, of which 2 may be fenced, with a topic.
func pair(index uint64, id kafka.TopicID, fenced bool, partitions ...meta.Partition) *meta.Image {
	e := meta.Empty("c").Edit(index)
	e.PutBroker(&meta.Broker{ID: 1})
	e.PutBroker(&meta.Broker{ID: 2, Fenced: fenced})
	e.PutTopic(&meta.Topic{Name: "t", ID: id, Partitions: partitions})
	return e.Image()
}

// led is a partition of brokers 1 and 2 that the first in sync leads.
func led(isr ...kafka.BrokerID) meta.Partition {
	return meta.Partition{Replicas: []kafka.BrokerID{1, 2}, ISR: isr, Leader: isr[0], LastKnownLeader: kafka.NoBroker}
}

// TestFailedPartitionsAreGivenAway: at once when a directory fails, later when the
// cluster counts on this broker again, and never for what has one copy.
func TestFailedPartitionsAreGivenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := kafka.NewTopicID()
		both, only, other := led(1, 2), led(1), led(2)
		only.Replicas = only.ISR
		var img atomic.Pointer[meta.Image]
		img.Store(pair(1, id, false, both, only, other, both))
		c := &court{decide: func(call int) ([]meta.ISRResult, error) {
			if call == 1 {
				return nil, errors.New("no majority")
			}
			return nil, nil
		}}
		s := newSender(t, c)
		s.o.Image = img.Load
		s.DirectoryFailed()                   // too early: nobody knows of it yet
		s.Watch(slices.Values(broken(id, 5))) // the image does not know the last one
		time.Sleep(100 * time.Millisecond)    // fake: the bubble's clock
		synctest.Wait()
		s.mu.Lock()
		var asked []int32
		for _, change := range slices.Concat(c.calls...) {
			if !change.Failed || change.Topic != id {
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

		img.Store(pair(2, id, false, other, only, other, other))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(c.calls) != calls {
			t.Errorf("%d more calls after it has left", len(c.calls)-calls)
		}
		img.Store(pair(3, id, false, other, both, other, other))
		s.DirectoryFailed()
		synctest.Wait()
		if last := c.calls[len(c.calls)-1]; len(last) != 1 || last[0].Partition != 1 {
			t.Errorf("asked for %+v", last)
		}
	})
}

// TestLastCopyAsksWhenOthersCan: nobody is asked in vain for the one in sync, and soon
// when another that may lead is there.
func TestLastCopyAsksWhenOthersCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := kafka.NewTopicID()
		last := led(1)
		last.ELR = []kafka.BrokerID{2}
		var img atomic.Pointer[meta.Image]
		img.Store(pair(1, id, true, last, led(1)))
		c := &court{decide: func(int) ([]meta.ISRResult, error) { return nil, nil }}
		s := newSender(t, c)
		s.o.Image = img.Load
		s.Watch(slices.Values(broken(id, 2)))
		time.Sleep(time.Minute) // fake: the bubble's clock
		synctest.Wait()
		if len(c.calls) != 0 {
			t.Errorf("%d calls while nobody else can lead", len(c.calls))
		}
		img.Store(pair(2, id, false, last, led(1)))
		time.Sleep(s.every())
		synctest.Wait()
		if len(c.calls) != 1 || len(c.calls[0]) != 1 || c.calls[0][0].Partition != 0 {
			t.Errorf("asked for %+v, want one call for partition 0", c.calls)
		}
	})
}

// TestLeavingIsAskedForOnce: while nobody decides, looks don't make the queue longer.
func TestLeavingIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := kafka.NewTopicID()
		img := pair(1, id, false, led(1, 2))
		c := &court{decide: func(int) ([]meta.ISRResult, error) { return nil, errors.New("no majority") }}
		s := newSender(t, c)
		s.o.Image = func() *meta.Image { return img }
		s.Watch(slices.Values(broken(id, 1)))
		time.Sleep(time.Minute) // fake: the bubble's clock
		synctest.Wait()
		if last := c.calls[len(c.calls)-1]; len(last) != 1 {
			t.Errorf("the last of %d calls asks for %d changes, want 1", len(c.calls), len(last))
		}
	})
}
