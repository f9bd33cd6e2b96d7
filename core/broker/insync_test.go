package broker_test

import (
	"slices"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// awaitISR waits until a partition of t has so many replicas in sync, and returns how
// long that took.
func (s *trio) awaitISR(partition, size int) time.Duration {
	s.Helper()
	begin, there := time.Now(), make(chan struct{}, 1)
	defer s.brokers[0].Control.Watch(func(i *meta.Image) {
		if t, ok := i.Topic("t"); ok && len(t.Partitions[partition].ISR) == size {
			select {
			case there <- struct{}{}:
			default:
			}
		}
	})()
	select {
	case <-there:
	case <-time.After(time.Minute):
		t, _ := s.brokers[0].Control.Image().Topic("t")
		s.Fatalf("partition %d: %+v, want %d in sync", partition, t.Partitions[partition], size)
	}
	return time.Since(begin)
}

// TestWhoDoesNotKeepUpIsOut: a follower that is gone holds acks=all up no longer than
// replica.lag.time.max.ms, and is in again as soon as it has caught up. Nobody fenced it.
func TestWhoDoesNotKeepUpIsOut(t *testing.T) {
	const lag = 2 * time.Second
	replicate(t, brokertest.Options{Static: config.Static{"replica.lag.time.max.ms": "2000"}}, func(s *trio) {
		s.brokers[0].AssignTopic("t", map[string]string{"min.insync.replicas": "2"}, on(1, 2, 3))
		c := s.producer(0)
		s.write(c, 0, 10)
		s.brokers[2].Stop()
		begin := time.Now()
		s.write(c, 0, 10)
		if waited := time.Since(begin); waited < lag/2 || waited > 2*lag {
			t.Errorf("the first write after the loss waited for %v, want about %v", waited, lag)
		}
		topic, _ := s.brokers[0].Control.Image().Topic("t")
		if p := topic.Partitions[0]; !slices.Equal(p.ISR, on(1, 2)) {
			t.Errorf("in sync are %v, want 1 and 2", p.ISR)
		}
		s.brokers[2].Restart()
		if took := s.awaitISR(0, 3); took > time.Second {
			t.Errorf("the follower that came back was in sync after %v", took)
		}
		s.write(c, 0, 1)
		s.alike(0)
	})
}

// TestMovesEnd: a partition that is asked to move to another broker is there once that
// has caught up, and the replica that it left is deleted.
func TestMovesEnd(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.brokers[0].AssignTopic("t", nil, on(1, 2))
		s.write(s.producer(0), 0, 100)
		topic, _ := s.brokers[0].Control.Image().Topic("t")
		errs, err := s.brokers[0].Control.AlterReassignments(t.Context(), []meta.Reassignment{
			{PartitionID: meta.PartitionID{Topic: topic.ID}, Replicas: []kafka.BrokerID{3, 2}}})
		if err != nil || errs[0] != nil {
			t.Fatal(err, errs)
		}
		moved := make(chan struct{}, 1)
		defer s.brokers[0].Control.Watch(func(i *meta.Image) {
			t, _ := i.Topic("t")
			if p := &t.Partitions[0]; !p.Reassigning() && slices.Equal(p.Replicas, on(3, 2)) && p.Leader != 1 {
				select {
				case moved <- struct{}{}:
				default:
				}
			}
		})()
		select {
		case <-moved:
		case <-time.After(time.Minute):
			topic, _ = s.brokers[0].Control.Image().Topic("t")
			t.Fatalf("the move did not end: %+v", topic.Partitions[0])
		}
		s.write(s.producer(1), 0, 1)
		s.brokers = s.brokers[1:]
		s.alike(0)
	})
}
