package wire

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sameFetch compares a decoded request with one that kmsg decoded.
func sameFetch(got *FetchRequest, want *kmsg.FetchRequest) error {
	id, epoch := want.ReplicaID, int64(-1)
	if want.Version >= 15 {
		id, epoch = want.ReplicaState.ID, want.ReplicaState.Epoch
	}
	if got.ReplicaID != kafka.BrokerID(id) || got.ReplicaEpoch != epoch ||
		got.MaxWaitMS != want.MaxWaitMillis || got.MinBytes != want.MinBytes || got.MaxBytes != want.MaxBytes ||
		got.IsolationLevel != want.IsolationLevel || got.SessionID != want.SessionID || got.SessionEpoch != want.SessionEpoch ||
		string(got.Rack) != want.Rack || (got.ClusterID == nil) != (want.ClusterID == nil) ||
		want.ClusterID != nil && string(got.ClusterID) != *want.ClusterID {
		return fmt.Errorf("head: got %+v, want %+v", got, want)
	}
	if len(got.Topics) != len(want.Topics) || len(got.Forgotten) != len(want.ForgottenTopics) {
		return fmt.Errorf("%d topics and %d forgotten, want %d and %d", len(got.Topics), len(got.Forgotten), len(want.Topics), len(want.ForgottenTopics))
	}
	for i, wt := range want.Topics {
		gt := got.Topics[i]
		if string(gt.Name) != wt.Topic || gt.ID != kafka.TopicID(wt.TopicID) || len(gt.Partitions) != len(wt.Partitions) {
			return fmt.Errorf("topic %d: got %+v, want %+v", i, gt, wt)
		}
		for j, wp := range wt.Partitions {
			want := FetchRange{
				wp.Partition, kafka.LeaderEpoch(wp.CurrentLeaderEpoch), kafka.Offset(wp.FetchOffset),
				kafka.LeaderEpoch(wp.LastFetchedEpoch), kafka.Offset(wp.LogStartOffset), wp.PartitionMaxBytes,
			}
			if gt.Partitions[j] != want {
				return fmt.Errorf("topic %d partition %d: got %+v, want %+v", i, j, gt.Partitions[j], want)
			}
		}
	}
	for i, wt := range want.ForgottenTopics {
		gt := got.Forgotten[i]
		if string(gt.Name) != wt.Topic || gt.ID != kafka.TopicID(wt.TopicID) || !slices.Equal(gt.Partitions, wt.Partitions) {
			return fmt.Errorf("forgotten %d: got %+v, want %+v", i, gt, wt)
		}
	}
	return nil
}

func TestDecodeFetchAgreesWithKmsg(t *testing.T) {
	g := newGen(5)
	var got FetchRequest
	for i := range 3000 { // 200 of each version
		version := int16(4 + i%15)
		body := g.fetch(version).AppendTo(nil)
		want := kmsg.FetchRequest{Version: version}
		if err := want.ReadFrom(body); err != nil {
			t.Fatal(err)
		}
		if err := DecodeFetch(&got, version, body); err != nil {
			t.Fatalf("v%d, message %d: %v", version, i, err)
		}
		if err := sameFetch(&got, &want); err != nil {
			t.Fatalf("v%d, message %d: %v", version, i, err)
		}
	}
}

func TestDecodeFetchRefusesEveryPrefix(t *testing.T) {
	g := newGen(6)
	var f FetchRequest
	for version := int16(4); version <= 18; version++ {
		body := g.fetch(version).AppendTo(nil)
		for n := 0; n < len(body); n += 1 + n/64 {
			if err := DecodeFetch(&f, version, body[:n]); !errors.Is(err, ErrMalformed) {
				t.Fatalf("v%d: %d of %d bytes: %v, want ErrMalformed", version, n, len(body), err)
			}
		}
	}
}

func TestDecodeFetchDoesNotAllocate(t *testing.T) {
	g := newGen(7)
	for _, version := range []int16{4, 12, 18} {
		r := g.fetch(version)
		r.Topics = append(r.Topics, kmsg.FetchRequestTopic{Partitions: make([]kmsg.FetchRequestTopicPartition, 100)})
		body := r.AppendTo(nil)
		var f FetchRequest
		if n := testing.AllocsPerRun(100, func() { DecodeFetch(&f, version, body) }); n != 0 {
			t.Errorf("v%d: %v allocs, want 0", version, n)
		}
	}
}

func FuzzDecodeFetch(f *testing.F) {
	g := newGen(8)
	for version := int16(4); version <= 18; version++ {
		f.Add(version, g.fetch(version).AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < 4 || version > 18 {
			return
		}
		var got FetchRequest
		if err := DecodeFetch(&got, version, body); err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error %v is not ErrMalformed", err)
			}
			return
		}
		if n := len(got.Topics) + got.Len() + len(got.Forgotten); n > len(body) {
			t.Fatalf("%d entries out of %d bytes", n, len(body))
		}
		want := kmsg.FetchRequest{Version: version}
		if want.ReadFrom(body) != nil {
			return // kmsg reads tags that we skip, and may refuse them
		}
		if version >= 12 && version < 15 && (want.ReplicaState.ID != -1 || want.ReplicaState.Epoch != -1) {
			return // a tag that this version does not have
		}
		if err := sameFetch(&got, &want); err != nil {
			t.Fatal(err)
		}
	})
}
