package broker_test

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/vfs"
)

// A group commits an offset, and compaction takes the record at that offset away. The
// group goes on with the next record that there is. Otherwise its consumers would ask
// for that offset for ever and get nothing.
func TestCOMP01CommittedOffsetThatWasCompactedAway(t *testing.T) {
	b, manual := compactedBroker(t, vfs.NewMem())
	b.CreateTopic("c", 1, compactedTopic())
	fillCompacted(t, b, "c", 1, 200)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	const committed = 33 // key 3, written again at 43, 53, ...
	offsets := kadm.Offsets{}
	offsets.AddOffset("c", 0, committed, -1)
	if err := kadm.NewClient(b.Client()).CommitAllOffsets(ctx, "g", offsets); err != nil {
		t.Fatal(err)
	}
	manual.Advance(2 * compactionTick)

	var left []int64
	if err := read(ctx, b, "c", 200, func(r *kgo.Record) { left = append(left, r.Offset) }); err != nil {
		t.Fatal(err)
	}
	next := int64(-1)
	for _, offset := range left {
		if offset == committed {
			t.Fatalf("the record at offset %d is still there: nothing is tested", committed)
		}
		if offset > committed && next < 0 {
			next = offset
		}
	}

	fetched, err := kadm.NewClient(b.Client()).FetchOffsets(ctx, "g")
	if err != nil {
		t.Fatal(err)
	}
	at, _ := fetched.Lookup("c", 0)
	from := kgo.NewOffset().At(at.At)
	c := b.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"c": {0: from}}))
	fetches := c.PollRecords(ctx, 1)
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	if got := fetches.Records(); len(got) != 1 || got[0].Offset != next {
		t.Errorf("from offset %d the group goes on with %v, want the record at offset %d", at.At, got, next)
	}
}
