package wire

import (
	"errors"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestFollowerOffsetsRequestIsKmsgs(t *testing.T) {
	q := FollowerOffsets{Replica: 3, Timestamp: -2, Partitions: []FollowerOffset{
		{TopicPartition: kafka.TopicPartition{Topic: "a", Partition: 4}, CurrentLeaderEpoch: 9},
		{TopicPartition: kafka.TopicPartition{Topic: "b", Partition: 0}, CurrentLeaderEpoch: 1}}}
	got := kmsg.ListOffsetsRequest{Version: FollowerOffsetsVersion}
	if err := got.ReadFrom(AppendFollowerOffsets(nil, &q)); err != nil {
		t.Fatal(err)
	}
	if got.ReplicaID != 3 || len(got.Topics) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, topic := range got.Topics {
		want := q.Partitions[i]
		if p := topic.Partitions[0]; topic.Topic != want.Topic || p.Partition != want.Partition || p.CurrentLeaderEpoch != int32(want.CurrentLeaderEpoch) || p.Timestamp != -2 {
			t.Errorf("%+v, want %+v", topic, want)
		}
	}
}

// offsetsAnswer is a response as it arrives.
func offsetsAnswer() []byte {
	r := kmsg.NewPtrListOffsetsResponse()
	r.Version = FollowerOffsetsVersion
	for _, name := range []string{"a", "b"} {
		t := kmsg.NewListOffsetsResponseTopic()
		t.Topic = name
		for n := range int32(2) {
			p := kmsg.NewListOffsetsResponseTopicPartition()
			p.Partition, p.ErrorCode, p.Offset, p.LeaderEpoch = n, int16(n), int64(10+n), 5
			t.Partitions = append(t.Partitions, p)
		}
		r.Topics = append(r.Topics, t)
	}
	return r.AppendTo(append(appendInt32(nil, 77), 0))
}

func TestFollowerOffsetsAnswerIsKmsgs(t *testing.T) {
	frame := offsetsAnswer()
	id, all, err := DecodeFollowerOffsets(frame)
	want := FollowerOffset{TopicPartition: kafka.TopicPartition{Topic: "b", Partition: 1}, CurrentLeaderEpoch: 5, Err: 1, Offset: 11}
	if err != nil || id != 77 || len(all) != 4 || all[3] != want {
		t.Fatalf("%d %+v %v, want the last to be %+v", id, all, err, want)
	}
	for n := range frame {
		if _, _, err := DecodeFollowerOffsets(frame[:n]); !errors.Is(err, ErrMalformed) {
			t.Fatalf("%d of %d bytes: %v, want ErrMalformed", n, len(frame), err)
		}
	}
}

func FuzzDecodeFollowerOffsets(f *testing.F) {
	f.Add(offsetsAnswer())
	f.Fuzz(func(t *testing.T, frame []byte) {
		_, all, err := DecodeFollowerOffsets(frame)
		if len(all)*27 > len(frame) || err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatalf("%d partitions out of %d bytes: %v", len(all), len(frame), err)
		}
	})
}
