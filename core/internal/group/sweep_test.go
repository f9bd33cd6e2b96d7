package group

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// committed is a State in which groups of offsets have committed partitions of one
// topic each, at time 0.
func committed(groups []string, partitions int32) *State {
	s := New(ruled(), ruledConsumers, counters())
	s.Loaded(0)
	for _, id := range groups {
		q := kmsg.NewPtrOffsetCommitRequest()
		q.Version, q.Group, q.Generation = 9, id, -1
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = "t"
		for p := range partitions {
			t.Partitions = append(t.Partitions, kmsg.OffsetCommitRequestTopicPartition{Partition: p})
		}
		q.Topics = append(q.Topics, t)
		s.Appended(0, s.Commit(0, Caller{Version: 9, Ticket: nobody{}}, q), kafka.None)
	}
	return s
}

// bytesOf is what records take in a batch, at least.
func bytesOf(records []Record) (n int) {
	for _, r := range records {
		n += len(r.Key) + len(r.Value)
	}
	return n
}

// expireAll runs every deadline until none is left, and gives the largest batch. The
// log takes what take says.
func expireAll(t *testing.T, s *State, now int64, code kafka.ErrorCode) (largest int) {
	t.Helper()
	for range 10_000 {
		out, ok := s.Expire(now)
		if !ok {
			return largest
		}
		for len(out.Records) > 0 {
			largest = max(largest, bytesOf(out.Records))
			out = s.Appended(now, out, code)
		}
	}
	t.Fatal("deadlines that come due for ever")
	return 0
}

// TestExpiryFitsIntoBatches expires a group with very many offsets, and many with very
// long names: each batch is one that the log takes, and in the end nothing is left.
func TestExpiryFitsIntoBatches(t *testing.T) {
	long := make([]string, 100)
	for i := range long {
		long[i] = strings.Repeat("n", 32_000) + string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	for _, s := range []*State{committed([]string{"wide"}, 50_000), committed(long, 3)} {
		due := s.config.RetentionMS + s.config.CheckIntervalMS
		if got := expireAll(t, s, due, kafka.None); got > 1<<20 {
			t.Errorf("a batch of %d bytes", got)
		}
		if groups, offsets := s.Len(); groups != 0 || offsets != 0 {
			t.Errorf("%d groups and %d offsets are left", groups, offsets)
		}
	}
}

// TestExpiryWaitsForALogThatRefuses has more to delete than one batch takes, and a log
// that takes none: it is not tried again before the next check.
func TestExpiryWaitsForALogThatRefuses(t *testing.T) {
	s := committed([]string{"wide"}, 3*sweepRecordsMax)
	due := s.config.RetentionMS + s.config.CheckIntervalMS
	expireAll(t, s, due, kafka.ErrKafkaStorageError)
	if next, ok := s.Next(); !ok || next != due+s.config.CheckIntervalMS {
		t.Errorf("next at %d, want %d", next, due+s.config.CheckIntervalMS)
	}
	expireAll(t, s, due+s.config.CheckIntervalMS, kafka.None)
	if _, offsets := s.Len(); offsets != 0 {
		t.Errorf("%d offsets are left", offsets)
	}
}

// TestDeletedTopicsFitIntoBatches deletes a topic of which groups with very long names
// have offsets.
func TestDeletedTopicsFitIntoBatches(t *testing.T) {
	s := committed([]string{strings.Repeat("n", 32_000)}, 2000)
	for {
		out := s.TopicDeleted("t", kafka.NoTopicID)
		if len(out.Records) == 0 {
			break
		}
		if got := bytesOf(out.Records); got > 1<<20 {
			t.Fatalf("a batch of %d bytes", got)
		}
		s.Appended(0, out, kafka.None)
	}
	if _, offsets := s.Len(); offsets != 0 {
		t.Errorf("%d offsets are left", offsets)
	}
}
