package broker_test

import (
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// TestLeaderWithoutRoom: what a full directory leads others lead at once, and what it
// follows it holds up no longer. With room all is in sync again, without a restart.
func TestLeaderWithoutRoom(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		var faults errorfs.Switch
		s.brokers[0].RestartOn(errorfs.New(s.brokers[0].FS(), faults.Inject))
		s.topic(map[string]string{"min.insync.replicas": "1"}, on(1, 2, 3), on(2, 3, 1), on(1, 2, 3))
		c := s.producer(1, kgo.MetadataMinAge(50*time.Millisecond))
		for partition := range int32(3) {
			s.write(c, partition, 20)
		}
		faults.On(errorfs.Path("/data/logs/t-", vfs.OpWrite), syscall.ENOSPC)
		begin := time.Now()
		s.write(c, 0, 20)
		s.write(c, 1, 20)
		if waited := time.Since(begin); waited > 2*time.Second {
			s.Errorf("producers waited for %v", waited)
		}
		synctest.Wait()
		topic, _ := s.brokers[0].Control.Image().Topic("t")
		for n, want := range []struct {
			leader kafka.BrokerID
			isr    []kafka.BrokerID
		}{{2, on(2, 3)}, {2, on(2, 3)}, {2, nil}} {
			p := topic.Partitions[n]
			if p.Leader != want.leader || want.isr != nil && !slices.Equal(p.ISR, want.isr) {
				s.Errorf("partition %d: %+v, want leader %d, in sync %v", n, p, want.leader, want.isr)
			}
		}
		if b, _ := s.brokers[0].Control.Image().Broker(1); !b.Active() {
			s.Error("the broker is out of service")
		}
		faults.Off()
		for partition := range 2 {
			s.await(partition, 3)
			s.alike(partition)
		}
	})
}
