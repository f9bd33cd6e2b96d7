package controller

import (
	"testing"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// TestHeartbeatOfAnotherRegistration shows what a leader says to a broker that it knows
// by another registration, or not at all.
func TestHeartbeatOfAnotherRegistration(t *testing.T) {
	image, now := meta.Empty("c"), time.Unix(1000, 0)
	for range 3 { // the third registration of broker 1 has epoch 3
		image, _ = metadata.Apply(image, image.Index+1, &metadata.RegisterBroker{ID: 1, CleanShutdown: true})
	}
	m := NewMachine(Config{Self: 9}, now, image)
	for _, c := range []struct {
		name    string
		id      kafka.BrokerID
		epoch   kafka.BrokerEpoch
		applied uint64
		want    Status
	}{
		{"the one that counts", 1, 3, 3, Known},
		{"an earlier one", 1, 2, 3, Superseded},
		{"a later one, of a cluster whose log was lost", 1, 7, 3, Unknown},
		{"a later one, of a leader that this one has not heard of", 1, 7, 7, Known},
		{"nobody", 2, 1, 3, Unknown},
		{"nobody, and the leader is another one", 2, 5, 5, Known},
	} {
		if got := m.Heartbeat(now, Heartbeat{ID: c.id, Epoch: c.epoch, Applied: c.applied}); got != (Answer{Status: c.want}) {
			t.Errorf("%s: %+v, want status %d", c.name, got, c.want)
		}
	}
}
