package wire

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sameProduce compares a decoded request with kmsg's.
func sameProduce(got *ProduceRequest, want *kmsg.ProduceRequest) error {
	if (got.TransactionalID == nil) != (want.TransactionID == nil) ||
		want.TransactionID != nil && string(got.TransactionalID) != *want.TransactionID ||
		got.Acks != want.Acks || got.TimeoutMS != want.TimeoutMillis || len(got.Topics) != len(want.Topics) {
		return fmt.Errorf("head: got %+v", got)
	}
	total := 0
	for i, wt := range want.Topics {
		gt := got.Topics[i]
		if string(gt.Name) != wt.Topic || gt.ID != kafka.TopicID(wt.TopicID) || len(gt.Partitions) != len(wt.Partitions) {
			return fmt.Errorf("topic %d: got %q %v with %d partitions, want %q with %d", i, gt.Name, gt.ID, len(gt.Partitions), wt.Topic, len(wt.Partitions))
		}
		for j, wp := range wt.Partitions {
			gp := gt.Partitions[j]
			if gp.Index != wp.Partition || !bytes.Equal(gp.Records, wp.Records) || (gp.Records == nil) != (wp.Records == nil) {
				return fmt.Errorf("topic %d partition %d: got %d and %d bytes, want %d and %d", i, j, gp.Index, len(gp.Records), wp.Partition, len(wp.Records))
			}
		}
		total += len(wt.Partitions)
	}
	if got.Len() != total {
		return fmt.Errorf("Len %d, want %d", got.Len(), total)
	}
	return nil
}

func TestDecodeProduceAgreesWithKmsg(t *testing.T) {
	g := newGen(1)
	var got ProduceRequest
	for i := range 2200 { // 200 of each version
		version := int16(3 + i%11)
		want := g.produce(version)
		body := want.AppendTo(nil)
		if i%5 == 0 {
			body = append(body, "trailing"...)
		}
		if err := DecodeProduce(&got, version, body); err != nil {
			t.Fatalf("v%d, message %d: %v", version, i, err)
		}
		if err := sameProduce(&got, want); err != nil {
			t.Fatalf("v%d, message %d: %v", version, i, err)
		}
	}
}

func TestDecodeProduceRefusesEveryPrefix(t *testing.T) {
	g := newGen(2)
	var p ProduceRequest
	for version := int16(3); version <= 13; version++ {
		r := g.produce(version)
		for range 3 {
			r.Topics = append(r.Topics, kmsg.ProduceRequestTopic{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: []byte("records")}}})
		}
		body := r.AppendTo(nil)
		for n := 0; n < len(body); n += 1 + n/64 {
			if err := DecodeProduce(&p, version, body[:n]); !errors.Is(err, ErrMalformed) {
				t.Fatalf("v%d: %d of %d bytes: %v, want ErrMalformed", version, n, len(body), err)
			}
		}
	}
}

// A length of 2^31-1 must be refused before it sizes anything.
func TestDecodeProduceHostileLengths(t *testing.T) {
	head := []byte{0xff, 0xff, 0, 1, 0, 0, 0, 0} // null transactional id, acks, timeout
	bodies := map[string][]byte{
		"topics":     append(head[:8:8], 0x7f, 0xff, 0xff, 0xff),
		"null":       append(head[:8:8], 0xff, 0xff, 0xff, 0xff),
		"partitions": append(head[:8:8], 0, 0, 0, 1, 0, 1, 't', 0x7f, 0xff, 0xff, 0xff),
		"records":    append(head[:8:8], 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff),
		"name":       append(head[:8:8], 0, 0, 0, 1, 0x7f, 0xff, 't', 0),
	}
	for what, body := range bodies {
		var p ProduceRequest
		if err := DecodeProduce(&p, 3, body); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", what, err)
		}
		if cap(p.Topics)+cap(p.partitions) > 16 {
			t.Errorf("%s: made room for %d topics and %d partitions", what, cap(p.Topics), cap(p.partitions))
		}
	}
}

func TestDecodeProduceDoesNotAllocate(t *testing.T) {
	g := newGen(3)
	for _, version := range []int16{3, 9, 13} {
		r := g.produce(version)
		for range 12 {
			r.Topics = append(r.Topics, kmsg.ProduceRequestTopic{Partitions: make([]kmsg.ProduceRequestTopicPartition, 12)})
		}
		body := r.AppendTo(nil)
		var p ProduceRequest
		if n := testing.AllocsPerRun(100, func() { DecodeProduce(&p, version, body) }); n != 0 {
			t.Errorf("v%d: %v allocs, want 0", version, n)
		}
	}
}

func TestProduceRequestForgetsAHugeOne(t *testing.T) {
	r := kmsg.ProduceRequest{Version: 3, Topics: []kmsg.ProduceRequestTopic{{Partitions: make([]kmsg.ProduceRequestTopicPartition, 10*partitionsKept)}}}
	var p ProduceRequest
	if err := DecodeProduce(&p, 3, r.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	p.Reset()
	if cap(p.partitions) != 0 {
		t.Errorf("keeps room for %d partitions, want none over %d", cap(p.partitions), partitionsKept)
	}
}

func FuzzDecodeProduce(f *testing.F) {
	g := newGen(4)
	for version := int16(3); version <= 13; version++ {
		f.Add(version, g.produce(version).AppendTo(nil)[:10])
		r := kmsg.ProduceRequest{Version: version, Topics: []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: []byte("r")}}}}}
		f.Add(version, r.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < 3 || version > 13 {
			return
		}
		var got ProduceRequest
		err := DecodeProduce(&got, version, body)
		if err == nil && len(got.Topics)+got.Len() > len(body) {
			t.Fatalf("%d topics and %d partitions out of %d bytes", len(got.Topics), got.Len(), len(body))
		}
		want := kmsg.ProduceRequest{Version: version}
		wantErr := want.ReadFrom(body)
		switch {
		case err == nil && wantErr != nil:
			t.Fatalf("accepted what kmsg refuses: %v", wantErr)
		case err == nil:
			if err := sameProduce(&got, &want); err != nil {
				t.Fatal(err)
			}
		case wantErr == nil && !hasNullArray(&want):
			t.Fatalf("refused what kmsg takes: %v", err)
		}
	})
}

// hasNullArray reports an array that may be null or empty in kmsg's eyes: as
// Kafka does, we refuse null where the protocol does not allow it.
func hasNullArray(r *kmsg.ProduceRequest) bool {
	if len(r.Topics) == 0 {
		return true
	}
	for i := range r.Topics {
		if len(r.Topics[i].Partitions) == 0 {
			return true
		}
	}
	return false
}
