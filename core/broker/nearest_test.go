package broker_test

import (
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/brokertest"
)

// reads counts the bytes of fetch answers by broker.
type reads struct {
	mu    sync.Mutex
	bytes map[int32]int
}

// OnBrokerRead implements kgo.HookBrokerRead.
func (r *reads) OnBrokerRead(meta kgo.BrokerMetadata, key int16, n int, _, _ time.Duration, _ error) {
	if key != 1 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes[meta.NodeID] += n
}

// of is what came from a broker.
func (r *reads) of(id int32) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes[id]
}

// TestKIP392ConsumerReadsInItsRack: the leader sends it there, and what is committed is
// there at once.
func TestKIP392ConsumerReadsInItsRack(t *testing.T) {
	selector := map[string]string{"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
	replicate(t, brokertest.Options{Static: selector, Racks: []string{"a", "b", "c"}}, func(s *trio) {
		s.topic(nil, on(1, 2, 3))
		p := s.producer(0)
		s.write(p, 0, 20)
		from := &reads{bytes: map[int32]int{}}
		c := s.brokers[0].Client(kgo.Rack("b"), kgo.WithHooks(from),
			kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
		s.read(c, 20)
		for range 5 {
			begin := time.Now()
			s.write(p, 0, 1)
			s.read(c, 1)
			if d := time.Since(begin); d > 0 {
				s.Errorf("a record took %v to the rack of its reader", d)
			}
		}
		if near, leader := from.of(2), from.of(1); near < 20*70 || leader > 300 {
			s.Errorf("%d bytes came from the rack, %d from the leader", near, leader)
		}
	})
}

// read takes n records.
func (s *trio) read(c *kgo.Client, n int) {
	s.Helper()
	for n > 0 {
		f := c.PollRecords(s.Context(), n)
		if err := f.Err0(); err != nil {
			s.Fatal(err)
		}
		n -= f.NumRecords()
	}
}
