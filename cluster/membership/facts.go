package membership

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/memberlist"

	"github.com/mortisemq/mortise/cluster/message"
	"github.com/mortisemq/mortise/core/kafka"
)

// FactsMax is how many bytes of facts a member may have.
const FactsMax = memberlist.MetaMaxSize

// Bounds of single facts, so that a member's facts fit and can be shown.
const (
	clusterIDMax = 80
	addressMax   = 260 // a DNS name and a port
	rackMax      = 128
)

// Facts are what a node says of itself, in the form of message.
type Facts struct {
	ID        kafka.BrokerID `cbor:"1,keyasint"`
	Instance  [16]byte       `cbor:"2,keyasint"`           // tells one start of the node from another
	ClusterID string         `cbor:"3,keyasint,omitempty"` // empty: the node has no cluster yet
	Peer      string         `cbor:"4,keyasint"`           // host:port of the port between nodes
	Admin     string         `cbor:"5,keyasint,omitempty"` // host:port for people; empty: none
	Rack      string         `cbor:"6,keyasint,omitempty"`
	Plugins   uint64         `cbor:"7,keyasint,omitempty"` // hash of the plugins in force
	Leaving   bool           `cbor:"8,keyasint,omitempty"` // it stops in order
}

// encode is the bytes of f; what others would refuse is an error.
func (f *Facts) encode() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	b, err := message.Encode(f)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	if len(b) > FactsMax {
		return nil, fmt.Errorf("%d bytes, and %d are allowed: shorten the rack or the addresses", len(b), FactsMax)
	}
	return b, nil
}

// decodeFacts reads facts from the network. Every error wraps ErrFacts.
func decodeFacts(b []byte) (Facts, error) {
	var f Facts
	if len(b) > FactsMax {
		return f, fmt.Errorf("%w: %d bytes", ErrFacts, len(b))
	}
	if err := message.Decode(b, &f); err != nil {
		return Facts{}, fmt.Errorf("%w: %w", ErrFacts, err)
	}
	if err := f.check(); err != nil {
		return Facts{}, fmt.Errorf("%w: %w", ErrFacts, err)
	}
	return f, nil
}

// check wants facts that can be used and shown.
func (f *Facts) check() error {
	if f.ID < 0 {
		return fmt.Errorf("node id %d", f.ID)
	}
	if err := checkAddress(f.Peer); err != nil {
		return fmt.Errorf("peer address: %w", err)
	}
	if f.Admin != "" {
		if err := checkAddress(f.Admin); err != nil {
			return fmt.Errorf("admin address: %w", err)
		}
	}
	if err := checkText(f.ClusterID, clusterIDMax); err != nil {
		return fmt.Errorf("cluster id: %w", err)
	}
	if err := checkText(f.Rack, rackMax); err != nil {
		return fmt.Errorf("rack: %w", err)
	}
	return nil
}

// checkAddress wants host:port.
func checkAddress(s string) error {
	if err := checkText(s, addressMax); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return err
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" {
		return fmt.Errorf("%q is not host:port", s)
	}
	return nil
}

// checkText wants text that a log line may hold.
func checkText(s string, most int) error {
	if len(s) > most {
		return fmt.Errorf("%d bytes, and %d are allowed", len(s), most)
	}
	if !utf8.ValidString(s) {
		return errors.New("not UTF-8")
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%q has unprintable characters", s)
		}
	}
	return nil
}
