package record

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// firstZstdVersion is the first Produce version that may carry zstd (KIP-110).
const firstZstdVersion = 7

// minOldLength is the least length field of any format version. Kafka's reader
// gives up on less than that before it knows the version.
const minOldLength = 14

// Only gives the one batch that a partition's records in a Produce request must
// hold, by Kafka's rules and with its codes (ProduceRequest.validateRecords,
// ByteBufferLogInputStream): bytes behind it that are no complete batch are left
// out; a second batch, an old format and zstd before v7 are refused. The error is
// an *InvalidError without records where Kafka answers with a message, a
// *kafka.Error where it answers the code alone.
//
// Cost: no allocation unless it fails.
func Only(records []byte, version int16) (Batch, error) {
	first, rest, err := Next(records)
	if err != nil {
		return nil, refuseFirst(records, version, err)
	}
	if first.Codec() == Zstd && version < firstZstdVersion {
		return nil, kafka.ErrUnsupportedCompressionType.Err(zstdTooEarly(version))
	}
	if more, err := hasBatch(rest); err != nil {
		return nil, err
	} else if more {
		return nil, invalid("Produce requests with version %d are only allowed to contain "+
			"exactly one record batch per partition", version)
	}
	return first, nil
}

func zstdTooEarly(version int16) string {
	return fmt.Sprintf("Produce requests with version %d are not allowed to use ZStandard compression", version)
}

// refuseFirst says why the records do not start with a batch of format v2.
func refuseFirst(records []byte, version int16, err error) error {
	more, bad := hasBatch(records)
	switch {
	case bad != nil:
		return bad
	case !more:
		return invalid("Produce requests with version %d must have at least one record batch per partition", version)
	case records[posMagic] != Magic:
		return invalid("Produce requests with version %d are only allowed to contain "+
			"record batches with magic version 2", version)
	case errors.Is(err, ErrCorrupt):
		return kafka.ErrCorruptMessage.Err(err.Error())
	}
	return invalid("%v", err)
}

// hasBatch tells whether Kafka's reader would find a whole batch of any version
// at the start of p. It fails on a length or a magic that cannot be.
func hasBatch(p []byte) (bool, error) {
	if len(p) < LogOverhead {
		return false, nil
	}
	length := int32(binary.BigEndian.Uint32(p[posLength:]))
	if length < minOldLength {
		return false, corrupt("Record size %d is less than the minimum record overhead (%d)", length, minOldLength)
	}
	if len(p) <= posMagic {
		return false, nil
	}
	if p[posMagic] > Magic {
		return false, corrupt("Invalid magic found in record: %d", int8(p[posMagic]))
	}
	return int64(len(p)) >= LogOverhead+int64(length), nil
}

func corrupt(format string, args ...any) error {
	return &InvalidError{Code: kafka.ErrCorruptMessage, Message: fmt.Sprintf(format, args...)}
}
