package controller

import (
	"fmt"

	"github.com/mortisemq/mortise/cluster/message"
	"github.com/mortisemq/mortise/core/kafka"
)

// Heartbeat is what a broker says to the leader.
type Heartbeat struct {
	ID       kafka.BrokerID    `cbor:"1,keyasint"`
	Epoch    kafka.BrokerEpoch `cbor:"2,keyasint"` // of its registration
	Applied  uint64            `cbor:"3,keyasint"` // index of its image
	Stopping bool              `cbor:"4,keyasint,omitempty"`
	Full     bool              `cbor:"5,keyasint,omitempty"` // a log directory has no room
}

// Answer is what the leader says to a heartbeat.
type Answer struct {
	Status Status `cbor:"1,keyasint"`
	Fenced bool   `cbor:"2,keyasint,omitempty"`
	Stop   bool   `cbor:"3,keyasint,omitempty"` // the broker may stop
}

// Status says what a registration is to the leader.
type Status int8

// Statuses of registrations.
const (
	Known      Status = iota
	Unknown           // it is to register again
	Superseded        // another registration took its place
)

// messageMax is how many bytes a heartbeat or its answer may have.
const messageMax = 256

// encode is the bytes of a message.
func encode(v any) ([]byte, error) {
	b, err := message.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("encode heartbeat: %w", err)
	}
	return b, nil
}

// decode reads a message.
func decode(b []byte, v any) error {
	if len(b) > messageMax {
		return fmt.Errorf("%w: %d bytes", ErrMalformed, len(b))
	}
	if err := message.Decode(b, v); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}
