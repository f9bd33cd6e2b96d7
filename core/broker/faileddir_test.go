package broker_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vfs/errorfs"
)

// TestLeaderWhoseDirectoryFails gives its partitions to others at once: the broker
// itself is alive, so that nobody fences it.
func TestLeaderWhoseDirectoryFails(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		var faults errorfs.Switch
		s.brokers[0].RestartOn(errorfs.New(s.brokers[0].FS(), faults.Inject))
		s.topic(map[string]string{"min.insync.replicas": "2"}, on(1, 2, 3))
		c := s.producer(1)
		s.write(c, 0, 20)
		faults.On(errorfs.Path("/data/logs/t-0", vfs.OpWrite), errors.New("broken"))
		s.write(c, 0, 20)
		synctest.Wait()
		topic, _ := s.brokers[0].Control.Image().Topic("t")
		if p := topic.Partitions[0]; p.Leader != 2 || len(p.ISR) != 2 || len(p.ELR) != 0 {
			s.Errorf("partition %+v", p)
		}
		if b, _ := s.brokers[0].Control.Image().Broker(kafka.BrokerID(1)); !b.Active() {
			s.Error("the broker is out of service")
		}
		faults.Off()
		s.brokers[0].Restart()
		s.await(0, 3)
		s.alike(0)
	})
}
