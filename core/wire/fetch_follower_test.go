package wire

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// followerFetch is a random request of a follower.
func (g gen) followerFetch() *kmsg.FetchRequest {
	r := g.fetch(FollowerVersion)
	r.ReplicaState.ID, r.ReplicaState.Epoch = int32(g.IntN(9)), int64(g.IntN(99)) // the default would be left out
	r.ClusterID, r.UnknownTags = nil, kmsg.Tags{}
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			r.Topics[i].Partitions[j].ReplicaDirectoryID = [16]byte{}
		}
	}
	return r
}

func TestAppendFetchAgreesWithKmsg(t *testing.T) {
	g := newGen(21)
	var f FetchRequest
	for i := range 1000 {
		want := g.followerFetch().AppendTo(nil)
		if err := DecodeFetch(&f, FollowerVersion, want); err != nil {
			t.Fatal(err)
		}
		if got := AppendFetch(nil, &f); !bytes.Equal(got, want) {
			t.Fatalf("message %d:\ngot  %x\nwant %x", i, got, want)
		}
	}
}

// followerAnswer is a random response for a follower.
func (g gen) followerAnswer() *kmsg.FetchResponse {
	r := kmsg.NewPtrFetchResponse()
	r.Version, r.ThrottleMillis, r.ErrorCode, r.SessionID = FollowerVersion, int32(g.Uint32()), int16(g.IntN(90)), int32(g.Uint32())
	for range g.IntN(4) {
		topic := kmsg.NewFetchResponseTopic()
		topic.TopicID = g.id()
		for range g.IntN(4) {
			_, p := g.fetchAnswer()
			topic.Partitions = append(topic.Partitions, p)
		}
		r.Topics = append(r.Topics, topic)
	}
	return r
}

// answerFrame is a response as it arrives, without its length.
func answerFrame(r *kmsg.FetchResponse, correlation int32) []byte {
	return r.AppendTo(append(appendInt32(nil, correlation), 0))
}

// sameAnswer compares what a FetchAnswer reads with what kmsg has.
func sameAnswer(frame []byte, want *kmsg.FetchResponse) error {
	a, err := OpenFetch(frame)
	if err != nil {
		return err
	}
	if a.ThrottleMS != want.ThrottleMillis || a.Err != kafka.ErrorCode(want.ErrorCode) || a.SessionID != want.SessionID {
		return fmt.Errorf("head: got %+v, want %+v", a, want)
	}
	var p FetchedPartition
	for _, topic := range want.Topics {
		for _, w := range topic.Partitions {
			if !a.Next(&p) {
				return fmt.Errorf("partition %d of topic %x is missing: %w", w.Partition, topic.TopicID, a.Malformed())
			}
			d, l := w.DivergingEpoch, w.CurrentLeader
			if p.Topic != topic.TopicID || p.Index != w.Partition || p.Err != kafka.ErrorCode(w.ErrorCode) ||
				int64(p.HighWatermark) != w.HighWatermark || int64(p.LogStart) != w.LogStartOffset || !bytes.Equal(p.Records, w.RecordBatches) ||
				int32(p.Diverging.Epoch) != d.Epoch || int64(p.Diverging.EndOffset) != d.EndOffset ||
				int32(p.Leader.ID) != l.LeaderID || int32(p.Leader.Epoch) != l.LeaderEpoch {
				return fmt.Errorf("got %+v, want %+v", p, w)
			}
		}
	}
	if a.Next(&p) || a.Malformed() != nil {
		return fmt.Errorf("after the end: %+v, %w", p, a.Malformed())
	}
	return nil
}

func TestFetchAnswerAgreesWithKmsg(t *testing.T) {
	g := newGen(22)
	for i := range 1000 {
		want := g.followerAnswer()
		if err := sameAnswer(answerFrame(want, 7), want); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

// readAnswer reads all of a frame and counts its partitions.
func readAnswer(frame []byte) (n int, err error) {
	a, err := OpenFetch(frame)
	if err != nil {
		return 0, err
	}
	var p FetchedPartition
	for a.Next(&p) {
		n++
	}
	return n, a.Malformed()
}

func TestFetchAnswerRefusesEveryPrefix(t *testing.T) {
	g := newGen(23)
	for range 10 {
		r := g.followerAnswer()
		frame := answerFrame(r, 7)
		for n := 0; n < len(frame); n += 1 + n/64 {
			if _, err := readAnswer(frame[:n]); !errors.Is(err, ErrMalformed) {
				t.Fatalf("%d of %d bytes: %v, want ErrMalformed", n, len(frame), err)
			}
		}
	}
}

func TestFetchAnswerDoesNotAllocate(t *testing.T) {
	g := newGen(24)
	frame := answerFrame(g.followerAnswer(), 7)
	if n := testing.AllocsPerRun(100, func() { readAnswer(frame) }); n != 0 {
		t.Errorf("%v allocs, want 0", n)
	}
}

func FuzzFetchAnswer(f *testing.F) {
	g := newGen(25)
	for n := 0; n < 8; {
		if frame := answerFrame(g.followerAnswer(), 7); len(frame) < 1000 { // large ones are slow to vary
			f.Add(frame)
			n++
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		n, err := readAnswer(frame)
		if n*answerPartitionMin > len(frame) {
			t.Fatalf("%d partitions out of %d bytes", n, len(frame))
		}
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error %v is not ErrMalformed", err)
			}
			return
		}
		want := kmsg.FetchResponse{Version: FollowerVersion}
		if len(frame) < 5 || frame[4] != 0 || want.ReadFrom(frame[5:]) != nil {
			return // header tags, or tags that kmsg reads and we skip
		}
		if err := sameAnswer(frame, &want); err != nil {
			t.Fatal(err)
		}
	})
}
