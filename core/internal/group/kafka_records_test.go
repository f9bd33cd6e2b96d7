package group

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// kafkaRecords are what a real Kafka 4.4 wrote while members of both protocols joined,
// committed and left; in one group by name, by expression, as a static member with a
// rack, and with the classic protocol. One record a line: key and value in hex.
func kafkaRecords(t *testing.T) (list []Record) {
	text, err := os.ReadFile("testdata/records/kafka-4.4.0.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), " ")
		var r Record
		if r.Key, err = hex.DecodeString(k); err != nil {
			t.Fatal(err)
		}
		if v != "-" {
			if r.Value, err = hex.DecodeString(v); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, r)
	}
	return list
}

// TestKafkasGroupsAreTakenOver loads what Kafka wrote: the same members have the same
// partitions, in the same epochs, and the offsets are there.
func TestKafkasGroupsAreTakenOver(t *testing.T) {
	s := New(ruled(), ruledConsumers, counters())
	for _, r := range kafkaRecords(t) {
		if err := s.Replay(r.Key, r.Value); err != nil {
			t.Error(err)
		}
	}
	id, err := hex.DecodeString("62059084392b4dce961d9829ef1222eb")
	if err != nil {
		t.Fatal(err)
	}
	e := meta.Empty("c").Edit(200)
	e.PutTopic(&meta.Topic{Name: "t", ID: kafka.TopicID(id), Partitions: make([]meta.Partition, 4)})
	s.SetImage(e.Image(), func() bool { return true })
	s.Loaded(0)
	d := s.DescribeConsumers(0, "g")
	got := fmt.Sprintln(d.State, d.Epoch, d.AssignmentEpoch)
	for _, m := range d.Members {
		got += fmt.Sprintln(m.MemberEpoch, text(m.InstanceID), text(m.RackID), m.SubscribedTopics, *m.SubscribedTopicRegex, m.MemberType, shownAssignment(m.Assignment), shownAssignment(m.TargetAssignment))
	}
	want := "Stable 6 6\n6   [] (^t) 1  t[0 3]  t[0 3]\n6 inst1 r1 [t]  1  t[2]  t[2]\n6   [t]  0  t[1]  t[1]\n"
	if got != want {
		t.Errorf("loaded\n%swant\n%s", got, want)
	}
	for p, at := range []int64{25, 13, 30, 22} {
		if o, ok := s.Fetch("g", "t", int32(p)); !ok || o.At != at {
			t.Errorf("partition %d has %+v, want %d", p, o, at)
		}
	}
	instance := "inst1"
	q := &kmsg.ConsumerGroupHeartbeatRequest{Group: "g", MemberID: "HRYBxm6RRxSECDFdG6QgRw", InstanceID: &instance, MemberEpoch: 6, RebalanceTimeoutMillis: -1}
	out := s.ConsumerHeartbeat(1, Caller{ClientID: "rdkafka", Host: "/127.0.0.1"}, q)
	if len(out.Records) != 0 || out.Replies[0].Message.(*kmsg.ConsumerGroupHeartbeatResponse).MemberEpoch != 6 {
		t.Errorf("the first heartbeat writes %d records: the topics have another hash than Kafka's", len(out.Records))
	}
}

// TestRecordsAreKafkasBytes writes what it read: byte for byte what Kafka wrote.
func TestRecordsAreKafkasBytes(t *testing.T) {
	n := 0
	for _, r := range kafkaRecords(t) {
		if !consumergroup.Kind(uint16(r.Key[1])) {
			continue
		}
		n++
		id, c, err := consumergroup.Decode(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(c.Key(id), r.Key) || !bytes.Equal(c.Value(), r.Value) {
			t.Errorf("%T:\n%x %x, want\n%x %x", c, c.Key(id), c.Value(), r.Key, r.Value)
		}
	}
	if n < 20 {
		t.Errorf("only %d records", n)
	}
}

// TestOffsetsAreKafkasBytes but for the id of the topic: its tag, with its count, is
// what Kafka's records end with.
func TestOffsetsAreKafkasBytes(t *testing.T) {
	n := 0
	for _, r := range kafkaRecords(t) {
		if r.Key[1] != offsetKeyVersion || r.Value == nil {
			continue
		}
		n++
		s := New(ruled(), ruledConsumers, counters())
		if err := s.Replay(r.Key, r.Value); err != nil {
			t.Fatal(err)
		}
		for id, g := range s.groups {
			for topic, partitions := range g.offsets {
				for partition, o := range partitions {
					got := offsetRecord(id, &put{topic: topic, partition: partition, offset: o})
					want := append(bytes.Clone(r.Value[:len(r.Value)-len("\x01\x00\x10")-16]), 0)
					if !bytes.Equal(got.Key, r.Key) || !bytes.Equal(got.Value, want) {
						t.Errorf("%x %x, want\n%x %x", got.Key, got.Value, r.Key, want)
					}
				}
			}
		}
	}
	if n == 0 {
		t.Error("no offsets")
	}
}
