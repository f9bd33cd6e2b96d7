package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/seeded"
	"github.com/mortisemq/mortise/sdk/auth"
)

// command draws any command, with few names so that they meet.
func command(t *rapid.T) Command {
	names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	ids := rapid.Custom(func(t *rapid.T) kafka.TopicID { return topicID(rapid.IntRange(1, 6).Draw(t, "id")) })
	values := rapid.MapOfN(names, rapid.StringN(0, 3, 9), 0, 2)
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return &RegisterBroker{ID: kafka.BrokerID(rapid.IntRange(1, 4).Draw(t, "broker")), CleanShutdown: rapid.Bool().Draw(t, "clean")}
	case 1:
		return &CreateTopics{Seed: rapid.Uint64().Draw(t, "seed"), Topics: []NewTopic{{Name: names.Draw(t, "name"), ID: ids.Draw(t, "id"),
			PartitionCount: int32(rapid.IntRange(0, 4).Draw(t, "partitions")), ReplicationFactor: int16(rapid.IntRange(0, 3).Draw(t, "factor")), Configs: values.Draw(t, "configs")}}}
	case 2:
		return &DeleteTopics{IDs: rapid.SliceOfN(ids, 1, 2).Draw(t, "ids")}
	case 3:
		return &CreatePartitions{Seed: rapid.Uint64().Draw(t, "seed"), Topics: []NewPartitions{{Topic: names.Draw(t, "name"), Count: int32(rapid.IntRange(0, 6).Draw(t, "count"))}}}
	case 4:
		return &AlterConfigs{Changes: []ConfigChange{{Type: meta.ResourceTopic, Name: names.Draw(t, "name"), Values: values.Draw(t, "values")}}}
	case 5:
		return &UpdateFeatures{Updates: []FeatureUpdate{{Name: "metadata.version", Level: int16(rapid.IntRange(1, 40).Draw(t, "level")), Downgrade: 1}}}
	case 6:
		return &CreateACLs{Rules: []ACL{{Resource: auth.Topic, Name: names.Draw(t, "name"), Pattern: auth.Literal, Principal: "User:" + names.Draw(t, "user"), Host: "*", Operation: auth.OpRead, Permission: auth.PermissionAllow}}}
	case 7:
		name := names.Draw(t, "name")
		return &DeleteACLs{Filters: []ACLFilter{{Resource: auth.AnyResource, Name: &name, Pattern: meta.MatchPattern, Operation: auth.OpAny, Permission: meta.AnyPermission}}}
	case 8:
		return &AlterPlugins{Changes: []PluginChange{{Name: names.Draw(t, "name"), Previous: rapid.Uint64Range(0, 5).Draw(t, "previous"), Spec: rapid.StringN(0, 3, 9).Draw(t, "spec")}}}
	default:
		return &AllocateProducerIDs{Count: 1000}
	}
}

// Nodes that see the commands, nodes that replay their encoding and nodes that
// start from a snapshot somewhere on the way must agree to the byte.
func TestAllNodesAgree(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		direct, replayed, restored := meta.Empty("c"), meta.Empty("c"), meta.Empty("c")
		for n := range rapid.IntRange(1, 20).Draw(rt, "commands") {
			c := command(rt)
			index := uint64(n + 1)
			b, err := EncodeCommand(c)
			if err != nil {
				rt.Fatal(err)
			}
			again, err := DecodeCommand(b)
			if err != nil {
				rt.Fatal(err)
			}
			direct, _ = Apply(direct, index, c)
			replayed, _ = Apply(replayed, index, again)
			if restored, err = ReadSnapshot(bytes.NewReader(snapshotOf(t, restored))); err != nil {
				rt.Fatal(err)
			}
			restored, _ = Apply(restored, index, again)
		}
		want := snapshotOf(t, direct)
		if got := snapshotOf(t, replayed); !bytes.Equal(got, want) {
			rt.Fatalf("a replaying node has %x, want %x", got, want)
		}
		if got := snapshotOf(t, restored); !bytes.Equal(got, want) {
			rt.Fatalf("a restored node has %x, want %x", got, want)
		}
	})
}

// An old image must stay as it was, whatever is applied on top of it.
func TestApplyLeavesTheOldImageAlone(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		image := meta.Empty("c")
		for n := range 20 {
			before := snapshotOf(t, image)
			next, _ := Apply(image, uint64(n+1), command(rt))
			if after := snapshotOf(t, image); !bytes.Equal(after, before) {
				rt.Fatalf("command %d changed the image under it", n)
			}
			image = next
		}
	})
}

func TestSnapshotRefusesDamage(t *testing.T) {
	image := bigImage(1)
	whole := snapshotOf(t, image)
	for cut := range len(whole) {
		if _, err := ReadSnapshot(bytes.NewReader(whole[:cut])); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("a snapshot cut at %d of %d bytes: %v, want ErrCorrupt", cut, len(whole), err)
		}
	}
	if _, err := ReadSnapshot(bytes.NewReader(append(whole, 0x00))); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("a snapshot with a byte more: %v, want ErrCorrupt", err)
	}
	broken := errors.New("disk gone")
	if _, err := ReadSnapshot(io.MultiReader(bytes.NewReader(whole[:30]), errReader{broken})); !errors.Is(err, broken) {
		t.Fatalf("a failing reader: %v, want its error", err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// bigImage has topics of 100 partitions.
func bigImage(topics int) *meta.Image {
	image, _ := Apply(meta.Empty("c"), 1, &RegisterBroker{ID: 1, CleanShutdown: true})
	c := &CreateTopics{Seed: 1}
	for n := range topics {
		c.Topics = append(c.Topics, NewTopic{Name: fmt.Sprintf("topic-%05d", n), ID: kafka.TopicID{byte(n), byte(n >> 8), 1}, PartitionCount: 100, ReplicationFactor: 1})
	}
	image, _ = Apply(image, 2, c)
	return image
}

func BenchmarkSnapshot(b *testing.B) {
	for _, topics := range []int{1, 1000} {
		image := bigImage(topics)
		b.Run(fmt.Sprintf("partitions=%d", image.PartitionCount()), func(b *testing.B) {
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				if err := WriteSnapshot(&out, image); err != nil {
					b.Fatal(err)
				}
				if _, err := ReadSnapshot(&out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(snapshotOf(b, image)))/float64(image.PartitionCount()), "bytes/partition")
		})
	}
}

func FuzzDecodeSnapshot(f *testing.F) {
	f.Add(snapshotOf(f, meta.Empty("")))
	f.Add(snapshotOf(f, bigImage(1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		image, err := ReadSnapshot(bytes.NewReader(b))
		if err != nil {
			return
		}
		once := snapshotOf(t, image)
		again, err := ReadSnapshot(bytes.NewReader(once))
		if err != nil {
			t.Fatalf("what was read can't be read again: %v", err)
		}
		if twice := snapshotOf(t, again); !bytes.Equal(twice, once) {
			t.Fatalf("second encoding %x, first %x", twice, once)
		}
	})
}

// A flipped bit in the log must not become another decision.
func TestCommandRefusesEveryFlippedBit(t *testing.T) {
	b, err := EncodeCommand(&CreateTopics{Topics: []NewTopic{{Name: "a", ID: topicID(1), PartitionCount: 3, ReplicationFactor: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(b) * 8 {
		b[bit/8] ^= 1 << (bit % 8)
		if c, err := DecodeCommand(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("bit %d flipped: decoded as %+v (%v), want ErrCorrupt", bit, c, err)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
}

func FuzzDecodeCommand(f *testing.F) {
	for _, c := range []Command{
		&Bootstrap{ClusterID: "c", Features: map[string]int16{"metadata.version": 33}},
		&RegisterBroker{ID: 1, Rack: "r", Endpoints: []Endpoint{{"PLAINTEXT", "h", 9092}}, LogDirs: []kafka.TopicID{{1}}},
		&CreateTopics{Seed: 1, Topics: []NewTopic{{Name: "a", ID: kafka.TopicID{1}, Assignment: [][]kafka.BrokerID{{1, 2}}, Configs: map[string]string{"k": "v"}}}},
		&DeleteTopics{IDs: []kafka.TopicID{{1}}},
		&CreatePartitions{Topics: []NewPartitions{{Topic: "a", Count: 3}}},
		&AlterConfigs{Changes: []ConfigChange{{Type: meta.ResourceTopic, Name: "a", Values: map[string]string{"k": "v"}}}},
		&UpdateFeatures{Updates: []FeatureUpdate{{Name: "metadata.version", Level: 9, Downgrade: 2}}},
		&AllocateProducerIDs{Count: 1000},
		&AlterISR{From: 1, Epoch: 2, Changes: []ISRChange{{Topic: kafka.TopicID{1}, LeaderEpoch: 1, PartitionEpoch: 2, ISR: []ISRReplica{{ID: 1, Epoch: -1}}, Recovered: true}}},
		&FenceBroker{ID: 1, Epoch: 2},
		&ElectLeaders{Kind: meta.Unclean, Partitions: []PartitionID{{Topic: kafka.TopicID{1}, Partition: 3}}},
		&AlterReassignments{Changes: []Reassignment{{Topic: kafka.TopicID{1}}, {Topic: kafka.TopicID{1}, Replicas: []kafka.BrokerID{}, KeepFactor: true}}},
		&UnregisterBroker{ID: 1},
	} {
		b, err := EncodeCommand(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= commandHeader { // otherwise the checksum hides the rest from the fuzzer
			binary.BigEndian.PutUint32(b[checksumAt:], commandChecksum(b))
		}
		c, err := DecodeCommand(b)
		if err != nil {
			return
		}
		once, err := EncodeCommand(c)
		if err != nil {
			t.Fatalf("what was read can't be written: %v", err)
		}
		again, err := DecodeCommand(once)
		if err != nil {
			t.Fatalf("what was written can't be read: %v", err)
		}
		twice, err := EncodeCommand(again)
		if err != nil || !bytes.Equal(twice, once) || reflect.TypeOf(again) != reflect.TypeOf(c) {
			t.Fatalf("second encoding %x (%v), first %x", twice, err, once)
		}
	})
}
