package telemetry

import (
	"encoding/base64"
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
)

// InstanceID is the id that a client instance has for its life.
type InstanceID [16]byte

// NoInstance is the id of a client that was given none yet.
var NoInstance InstanceID

// reserved are Kafka's ids that are nobody's: 0 and 1.
func (id InstanceID) reserved() bool { return id == NoInstance || id == InstanceID{15: 1} }

// String is Kafka's text form of a UUID.
func (id InstanceID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// hash is what Java's hashCode is of Kafka's Uuid.
func (id InstanceID) hash() int32 {
	both := binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:])
	return int32(both>>32) ^ int32(both)
}

// Client is who a request comes from.
type Client struct {
	Conn                          uint64 // its connection
	ID                            string // of the request's header
	HasID                         bool   // the header has one
	SoftwareName, SoftwareVersion string // empty: it did not tell
	Address                       netip.AddrPort
}

// unknownSoftware is what Kafka calls software that did not tell its name.
const unknownSoftware = "unknown"

// property is what a match of a subscription looks at.
func (c *Client) property(name string, id InstanceID) (value string, known bool) {
	switch name {
	case "client_instance_id":
		return id.String(), true
	case "client_id":
		return c.ID, c.HasID
	case "client_software_name":
		return orUnknown(c.SoftwareName), true
	case "client_software_version":
		return orUnknown(c.SoftwareVersion), true
	case "client_source_address":
		return javaAddress(c.Address.Addr()), c.Address.IsValid()
	case "client_source_port":
		return strconv.Itoa(int(c.Address.Port())), c.Address.IsValid()
	}
	return "", false
}

func orUnknown(s string) string {
	if s == "" {
		return unknownSoftware
	}
	return s
}

// javaAddress is the text that Java has for an address: of IPv6 all eight groups.
func javaAddress(a netip.Addr) string {
	if !a.Is6() || a.Is4In6() {
		return a.Unmap().String()
	}
	b := a.As16()
	groups := make([]string, 8)
	for i := range groups {
		groups[i] = strconv.FormatUint(uint64(binary.BigEndian.Uint16(b[2*i:])), 16)
	}
	text := strings.Join(groups, ":")
	if a.Zone() != "" {
		text += "%" + a.Zone()
	}
	return text
}
