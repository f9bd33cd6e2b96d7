package broker

import (
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

func TestStateOfPartitions(t *testing.T) {
	for _, c := range []struct {
		replicas, isr, min int
		want               partitionState
	}{
		{3, 3, 2, partitionState{}},
		{3, 2, 2, partitionState{underReplicated: true, atMinISR: true}},
		{3, 1, 2, partitionState{underReplicated: true, underMinISR: true}},
		{1, 1, 2, partitionState{atMinISR: true}}, // it can't have more
		{1, 0, 1, partitionState{underReplicated: true, underMinISR: true}},
	} {
		if got := stateOf(make([]kafka.BrokerID, c.replicas), make([]kafka.BrokerID, c.isr), c.min); got != c.want {
			t.Errorf("%d of %d in sync, at least %d: %+v, want %+v", c.isr, c.replicas, c.min, got, c.want)
		}
	}
}

// One scrape asks for each metric by itself, and must not walk over all partitions
// each time.
func TestOneCountServesAScrape(t *testing.T) {
	now, counts := time.Unix(0, 0), 0
	c := &ledCounter{now: func() time.Time { return now }, count: func() ledCounts { counts++; return ledCounts{led: counts} }}
	for range 4 {
		c.get()
	}
	if counts != 1 {
		t.Errorf("%d counts in one moment, want 1", counts)
	}
	now = now.Add(ledFresh)
	if got := c.get(); got.led != 2 {
		t.Errorf("a moment later it is count %d, want the second", got.led)
	}
}
