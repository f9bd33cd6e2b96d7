package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/seeded"
	"github.com/mortisemq/mortise/sdk/auth"
)

// someResults have every field of a result once.
func someResults() []Result {
	refused := kafka.ErrInvalidRequest.Err("no")
	state := meta.Partition{Replicas: []kafka.BrokerID{1, 2}, ISR: []kafka.BrokerID{1}, Leader: 1, LeaderEpoch: 3, PartitionEpoch: 4,
		ELR: []kafka.BrokerID{2}, LastKnownLeader: kafka.NoBroker, Recovering: true, Adding: []kafka.BrokerID{2}, Removing: []kafka.BrokerID{1}}
	return []Result{
		{},
		{Topics: []meta.TopicResult{{Topic: &meta.Topic{Name: "a", ID: topicID(1), Partitions: []meta.Partition{state}}}, {Err: refused}}},
		{Errors: []*kafka.Error{nil, refused, kafka.ErrUnknownTopicID.Err("")}},
		{Block: meta.ProducerIDBlock{First: 1000, Count: 1000}},
		{ACLs: []meta.ACLDeletion{{Rules: []auth.Rule{{Resource: auth.Topic, Name: "a", Principal: "User:u", Host: "*"}}}, {Err: refused}}},
		{BrokerEpoch: 12},
		{ISR: []meta.ISRResult{{State: state}, {Err: refused, State: state}}},
		{Err: refused},
	}
}

func TestResultsTravel(t *testing.T) {
	for _, r := range someResults() {
		b, err := EncodeResult(&r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeResult(b)
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v arrives as %+v, error %v", r, again, err)
		}
		for cut := range b {
			if _, err := DecodeResult(b[:cut]); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%x cut at %d: %v, want ErrCorrupt", b, cut, err)
			}
		}
	}
}

func FuzzDecodeResult(f *testing.F) {
	for _, r := range someResults() {
		b, err := EncodeResult(&r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeResult(b)
		if err != nil {
			return
		}
		once, err := EncodeResult(&r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeResult(once)
		if err != nil {
			t.Fatalf("what was read can't be read again: %v", err)
		}
		if twice, err := EncodeResult(&again); err != nil || !bytes.Equal(twice, once) {
			t.Fatalf("second encoding %x (%v), first %x", twice, err, once)
		}
	})
}

// The nodes of a story that see commands, replay them and start from snapshots agree.
func TestNodesOfAStoryAgree(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		s := newStory(rt)
		restored := s.image
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			b, err := EncodeCommand(s.step())
			if err != nil {
				rt.Fatal(err)
			}
			c, err := DecodeCommand(b)
			if err != nil {
				rt.Fatal(err)
			}
			if restored, err = ReadSnapshot(bytes.NewReader(snapshotOf(t, restored))); err != nil {
				rt.Fatal(err)
			}
			restored, _ = Apply(restored, restored.Index+1, c)
		}
		if restored.Leaderless() != s.image.Leaderless() {
			rt.Fatalf("%d partitions without a leader, restored %d", s.image.Leaderless(), restored.Leaderless())
		}
		if got, want := snapshotOf(t, restored), snapshotOf(t, s.image); !bytes.Equal(got, want) {
			rt.Fatalf("a restored node has %x, want %x", got, want)
		}
	})
}

// Logs and snapshots of the build before replication are read, and lead to the same.
func TestReadsWhatOlderBuildsWrote(t *testing.T) {
	log, err := os.ReadFile("testdata/before_replication.log")
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := os.ReadFile("testdata/before_replication.snapshot")
	if err != nil {
		t.Fatal(err)
	}
	image := meta.Empty("")
	for len(log) > 0 {
		length := int(binary.BigEndian.Uint16(log))
		c, err := DecodeCommand(log[2 : 2+length])
		if err != nil {
			t.Fatal(err)
		}
		image, _ = Apply(image, image.Index+1, c)
		log = log[2+length:]
	}
	if got := snapshotOf(t, image); !bytes.Equal(got, snapshot) {
		t.Errorf("the old log leads to %x, its build wrote %x", got, snapshot)
	}
	read, err := ReadSnapshot(bytes.NewReader(snapshot))
	if err != nil {
		t.Fatal(err)
	}
	if got := snapshotOf(t, read); !bytes.Equal(got, snapshot) {
		t.Errorf("the old snapshot reads as %x, want %x", got, snapshot)
	}
}
