package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// commandVersion is the first byte of every command.
const commandVersion = 1

// Format is the number of the form in which this build writes commands, results and
// snapshots, and of the rules by which Apply decides. A node can't follow decisions in a
// form that it does not know, and nodes with other rules no longer agree, so those with
// different numbers keep away from each other (peer.Options.Format). It rises with every
// change of one or the other; TestFormat holds the fields to it. What earlier builds wrote
// is read.
const Format = 3

// Limits of what a decoder accepts. They bound memory: an array or map is at
// most one element per byte of input, and no input is longer than a raft entry.
const (
	elementsMax = 1 << 20 // in one array or map
	nestingMax  = 8
)

// codec encodes and decodes CBOR in the one way that this package allows.
type codec struct {
	enc cbor.EncMode
	dec cbor.DecMode
}

// modes is the codec, built when it is first needed and never changed.
var modes = sync.OnceValue(newCodec)

// newCodec builds the codec. Its options are constants, so an error is ours.
func newCodec() codec {
	enc, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic("BUG: CBOR encoder options: " + err.Error())
	}
	dec, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		UTF8:              cbor.UTF8RejectInvalid,
		MaxArrayElements:  elementsMax,
		MaxMapPairs:       elementsMax,
		MaxNestedLevels:   nestingMax,
	}.DecMode()
	if err != nil {
		panic("BUG: CBOR decoder options: " + err.Error())
	}
	return codec{enc: enc, dec: dec}
}

// Layout of a command before its CBOR.
const (
	checksumAt    = 2
	commandHeader = checksumAt + 4
)

// EncodeCommand is the form of a command in the control log. A command that could
// not be read again (a text from a client that is not UTF-8, too many parts) is
// refused with ErrUnreadable: once agreed on, it would stop every node for good.
func EncodeCommand(c Command) ([]byte, error) {
	body, err := modes().enc.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode command of kind %d: %w", c.kind(), err)
	}
	b := make([]byte, commandHeader, commandHeader+len(body))
	b[0], b[1] = commandVersion, byte(c.kind())
	b = append(b, body...)
	binary.BigEndian.PutUint32(b[checksumAt:], commandChecksum(b))
	if _, err := DecodeCommand(b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return b, nil
}

// DecodeCommand reads what EncodeCommand wrote. Errors wrap ErrCorrupt, and ErrNewer when
// the bytes are whole and say something that this build does not know.
func DecodeCommand(b []byte) (Command, error) {
	if len(b) < commandHeader {
		return nil, fmt.Errorf("%w: a command of %d bytes, want at least %d", ErrCorrupt, len(b), commandHeader)
	}
	if has, is := binary.BigEndian.Uint32(b[checksumAt:]), commandChecksum(b); has != is {
		return nil, fmt.Errorf("%w: command of kind %d: checksum %08x, want %08x", ErrCorrupt, b[1], is, has)
	}
	if b[0] != commandVersion {
		return nil, fmt.Errorf("%w: command version %d, want %d", ErrNewer, b[0], commandVersion)
	}
	c := newCommand(kind(b[1]))
	if c == nil {
		return nil, fmt.Errorf("%w: command of unknown kind %d", ErrNewer, b[1])
	}
	if err := modes().dec.Unmarshal(b[commandHeader:], c); err != nil {
		return nil, fmt.Errorf("%w: command of kind %d: %w", unreadable(err), b[1], err)
	}
	return c, nil
}

// unreadable is what an error of the decoder says of the bytes: a field that this build
// does not know was written by a later one.
func unreadable(err error) error {
	var unknown *cbor.UnknownFieldError
	if errors.As(err, &unknown) {
		return ErrNewer
	}
	return ErrCorrupt
}

// commandChecksum is the CRC-32C of a command without its checksum field.
func commandChecksum(b []byte) uint32 {
	castagnoli := crc32.MakeTable(crc32.Castagnoli) // the library keeps one table
	return crc32.Update(crc32.Update(0, castagnoli, b[:checksumAt]), castagnoli, b[commandHeader:])
}

// newCommand is an empty command of the kind; nil: there is no such kind.
func newCommand(k kind) Command {
	switch k {
	case kindBootstrap:
		return new(Bootstrap)
	case kindRegisterBroker:
		return new(RegisterBroker)
	case kindCreateTopics:
		return new(CreateTopics)
	case kindDeleteTopics:
		return new(DeleteTopics)
	case kindCreatePartitions:
		return new(CreatePartitions)
	case kindAlterConfigs:
		return new(AlterConfigs)
	case kindUpdateFeatures:
		return new(UpdateFeatures)
	case kindAllocateProducerIDs:
		return new(AllocateProducerIDs)
	case kindCreateACLs:
		return new(CreateACLs)
	case kindDeleteACLs:
		return new(DeleteACLs)
	case kindAlterPlugins:
		return new(AlterPlugins)
	case kindAlterISR:
		return new(AlterISR)
	case kindFenceBroker:
		return new(FenceBroker)
	case kindUnfenceBroker:
		return new(UnfenceBroker)
	case kindBeginShutdown:
		return new(BeginShutdown)
	case kindElectLeaders:
		return new(ElectLeaders)
	case kindAlterReassignments:
		return new(AlterReassignments)
	case kindUnregisterBroker:
		return new(UnregisterBroker)
	case kindSetFull:
		return new(SetFull)
	}
	return nil
}
