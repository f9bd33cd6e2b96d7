package record

import (
	"fmt"
	"strconv"
)

// Codec is the compression codec of a batch, as in bits 0-2 of its attributes.
type Codec uint8

// The codecs of Kafka. Numbers 5 to 7 do not exist.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd

	codecCount // the first number that is no codec
)

var codecNames = [codecCount]string{"none", "gzip", "snappy", "lz4", "zstd"}

// String is Kafka's name of the codec: none, gzip, snappy, lz4 or zstd.
func (c Codec) String() string {
	if c < codecCount {
		return codecNames[c]
	}
	return "unknown-" + strconv.Itoa(int(c))
}

// CompressionType is a topic's compression.type: keep what the producer chose,
// or store everything with one codec. The zero value is producer.
type CompressionType uint8

// The values of compression.type.
const (
	CompressProducer CompressionType = iota
	CompressNone                     // "uncompressed"
	CompressGzip
	CompressSnappy
	CompressLZ4
	CompressZstd
)

// String is Kafka's configuration value: producer, uncompressed, gzip and so on.
func (t CompressionType) String() string {
	switch t {
	case CompressProducer:
		return "producer"
	case CompressNone:
		return "uncompressed"
	}
	return Codec(t - 1).String()
}

// ParseCompressionType reads a value of compression.type.
func ParseCompressionType(value string) (CompressionType, error) {
	for t := CompressProducer; t <= CompressZstd; t++ {
		if t.String() == value {
			return t, nil
		}
	}
	return CompressProducer, fmt.Errorf("compression.type %q: want uncompressed, zstd, lz4, snappy, gzip or producer", value)
}

// Target is the codec that a batch of codec producer is stored with.
func (t CompressionType) Target(producer Codec) Codec {
	if t == CompressProducer {
		return producer
	}
	return Codec(t - 1)
}

// TimestampType says who set a batch's timestamps, as in bit 3 of its attributes
// and as a topic's message.timestamp.type.
type TimestampType uint8

// The timestamp types.
const (
	CreateTime    TimestampType = iota // the producer's clock, per record
	LogAppendTime                      // the leader's clock, one for the batch
)

// String is Kafka's configuration value.
func (t TimestampType) String() string {
	if t == LogAppendTime {
		return "LogAppendTime"
	}
	return "CreateTime"
}

// ParseTimestampType reads a value of message.timestamp.type.
func ParseTimestampType(value string) (TimestampType, error) {
	switch value {
	case "CreateTime":
		return CreateTime, nil
	case "LogAppendTime":
		return LogAppendTime, nil
	}
	return CreateTime, fmt.Errorf("message.timestamp.type %q: want CreateTime or LogAppendTime", value)
}
