package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestRefusedProducesAndFetchesAreCounted(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 1}, nil)
	refused := func(key, why string) uint64 {
		return d.a.deps.Metrics.Counter("mortise_api_refusals_total", "", "key", key, "error", why).Load()
	}
	d.mustProduce("t", 1)
	d.fetchNow(fetchOf("t", 1))
	if got := refused("Produce", "UNKNOWN_TOPIC_OR_PARTITION") + refused("Fetch", "UNKNOWN_TOPIC_OR_PARTITION"); got != 0 {
		t.Fatalf("%d refusals, want none", got)
	}
	call[*kmsg.ProduceResponse](d, d.a.produce, produceOf(1, "u", records(1)))
	d.fetchNow(fetchOf("u", 1))
	for _, key := range []string{"Produce", "Fetch"} {
		if got := refused(key, "UNKNOWN_TOPIC_OR_PARTITION"); got != 1 {
			t.Errorf("%s: %d refusals, want 1", key, got)
		}
	}
}
