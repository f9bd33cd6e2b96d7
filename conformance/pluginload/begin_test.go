package pluginload_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestFirstRequestWaitsForRules starts a broker with an authorizer that is well but tells
// its rules late: nobody is let in before, so the first request of a client is answered.
func TestFirstRequestWaitsForRules(t *testing.T) {
	w := start(t, options{faults: map[string]string{"push": "mute"}})
	w.topics()
	c := w.client(guarded, as("alice", "secret-alice"))
	defer c.Close()
	if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "push-orders", Value: []byte("first")}).FirstErr(); err != nil {
		t.Errorf("the first request of a client: %v", err)
	}
}
