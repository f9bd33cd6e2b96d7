package kafka

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
)

// Offset is the position of a record in a partition. Valid offsets are ≥ 0.
type Offset int64

// NoOffset stands for an offset that does not exist (-1 on the wire).
const NoOffset Offset = -1

// LeaderEpoch counts the leaders of a partition. It never goes back.
type LeaderEpoch int32

// NoLeaderEpoch stands for an epoch that is not known (-1 on the wire).
const NoLeaderEpoch LeaderEpoch = -1

// PartitionEpoch counts the changes of a partition's state (leader, ISR, replicas).
type PartitionEpoch int32

// BrokerID names a broker. Valid ids are ≥ 0.
type BrokerID int32

// NoBroker stands for a broker that does not exist (-1 on the wire).
const NoBroker BrokerID = -1

// BrokerEpoch counts the registrations of a broker id.
type BrokerEpoch int64

// ProducerID names an idempotent or transactional producer.
type ProducerID int64

// NoProducerID marks a batch that is not idempotent (-1 on the wire).
const NoProducerID ProducerID = -1

// ProducerEpoch counts the incarnations of a producer id.
type ProducerEpoch int16

// TopicPartition names one partition of a topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is Kafka's directory form, TOPIC-PARTITION.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// FolderNameMax is the longest name of a folder in bytes.
const FolderNameMax = 255

// DeletedName is the name of the partition's folder once it is deleted,
// TOPIC-PARTITION.UUID-delete, with a topic that is cut where it must be.
func (tp TopicPartition) DeletedName(unique TopicID) string {
	suffix := fmt.Sprintf("-%d.%x-delete", tp.Partition, [16]byte(unique))
	topic := tp.Topic
	if most := FolderNameMax - len(suffix); len(topic) > most {
		topic = topic[:most]
	}
	return topic + suffix
}

// TopicID is a topic's UUID: 16 raw bytes on the wire, unpadded URL-safe base64
// in text. A topic that is deleted and made again gets another id.
type TopicID [16]byte

// NoTopicID is Kafka's Uuid.ZERO_UUID: the topic id is not known.
var NoTopicID TopicID

// String is Kafka's text form of a UUID.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// Compare orders ids by their bytes, as slices.SortFunc wants it.
func (id TopicID) Compare(o TopicID) int { return bytes.Compare(id[:], o[:]) }

// NewTopicID makes a random version 4 UUID. As in Kafka its text never starts
// with a dash, so that it can stand on a command line.
func NewTopicID() TopicID {
	for {
		var id TopicID
		rand.Read(id[:]) //nolint:errcheck // never fails, by its contract
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if id.String()[0] != '-' {
			return id
		}
	}
}

// ParseTopicID reads the text form.
func ParseTopicID(s string) (TopicID, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(TopicID{}) {
		return NoTopicID, fmt.Errorf("topic id %q: want 22 characters of URL-safe base64", s)
	}
	return TopicID(b), nil
}
