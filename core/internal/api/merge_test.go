package api

import (
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

// TestMergesAreNotQuadratic puts the two halves of an answer together that has very many
// topics: some tens of milliseconds, not minutes.
func TestMergesAreNotQuadratic(t *testing.T) {
	const n = 200_000
	refused, taken := kmsg.NewPtrOffsetCommitResponse(), kmsg.NewPtrOffsetCommitResponse()
	kept, deleted := kmsg.NewPtrOffsetDeleteResponse(), kmsg.NewPtrOffsetDeleteResponse()
	for i := range n {
		id := kafka.TopicID{byte(i), byte(i >> 8), byte(i >> 16), 1}
		name := string(id[:3])
		refused.Topics = append(refused.Topics, kmsg.OffsetCommitResponseTopic{TopicID: id, Partitions: make([]kmsg.OffsetCommitResponseTopicPartition, 1)})
		kept.Topics = append(kept.Topics, kmsg.OffsetDeleteResponseTopic{Topic: name, Partitions: make([]kmsg.OffsetDeleteResponseTopicPartition, 1)})
	}
	taken.Topics = append(taken.Topics, refused.Topics...)
	deleted.Topics = append(deleted.Topics, kept.Topics...)
	for i := range n / 2 { // and as many that were not refused in part
		taken.Topics[i].TopicID[3], deleted.Topics[i].Topic = 2, deleted.Topics[i].Topic+"2"
	}
	begun := cpuTime(t)
	mergeCommit(refused, taken)
	mergeOffsetDelete(kept, deleted)
	if took := cpuTime(t) - begun; took > 20*time.Second {
		t.Errorf("took %s of this process", took)
	}
	if len(refused.Topics) != n+n/2 || len(kept.Topics) != n+n/2 {
		t.Errorf("%d and %d topics, want %d", len(refused.Topics), len(kept.Topics), n+n/2)
	}
	if a, b := len(refused.Topics[n-1].Partitions), len(kept.Topics[n-1].Partitions); a != 2 || b != 2 {
		t.Errorf("%d and %d partitions of a topic that was refused in part, want 2", a, b)
	}
}

// cpuTime is what this process has computed for until now, however busy the machine is
// with others.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
