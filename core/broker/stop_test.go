package broker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/brokertest"
)

// A client may park a fetch for as long as it likes; the broker's stop must not
// take as long. The bubble's clock tells how long it took.
func TestStopDoesNotWaitForParkedFetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.Start(t, brokertest.Options{})
		b.CreateTopic("a", 1, nil)
		c := b.Client(kgo.ConsumeTopics("a"), kgo.FetchMaxWait(10*time.Minute))
		ctx, stop := context.WithCancel(t.Context())
		polled := make(chan struct{})
		go func() {
			defer close(polled)
			c.PollFetches(ctx)
		}()
		time.Sleep(5 * time.Second) // of the bubble: the fetch is parked
		begin := time.Now()
		b.Stop()
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("the stop took %v with a fetch parked for ten minutes, want about a second", took)
		}
		stop()
		<-polled
		c.Close()
	})
}

// "Create, then write" must work with the next request: the answer of a change
// comes when the roles are there.
func TestTopicIsServedWhenItsCreationIsAnswered(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{})
	admin := b.Client()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		create(t, admin, name)
		// No retries: an answer that says "not yet" fails the test.
		c := b.Client(kgo.DefaultProduceTopic(name), kgo.RecordRetries(0), kgo.UnknownTopicRetries(-1))
		if err := c.ProduceSync(t.Context(), kgo.StringRecord("first")).FirstErr(); err != nil {
			t.Errorf("first record of %s: %v", name, err)
		}
		c.Close()
	}
}
