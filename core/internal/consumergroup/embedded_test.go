package consumergroup

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// encode is the metadata of a consumer.
func (e *embedded) encode() []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics, m.OwnedPartitions = 3, e.topics, e.have
	if e.rack != "" {
		m.Rack = &e.rack
	}
	return m.AppendTo(nil)
}

// FuzzSubscription reads metadata of any bytes, which come from clients.
func FuzzSubscription(f *testing.F) {
	f.Add((&embedded{topics: []string{"a", "b", "a"}, rack: "r"}).encode())
	f.Add([]byte{0, 9, 0, 0, 0, 1, 0, 1, 'a', 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0x80, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, ok := parseSubscription(b)
		if !ok {
			return
		}
		again, ok := parseSubscription(e.encode())
		if !ok || len(again.topics) != len(e.topics) || again.rack != e.rack {
			t.Errorf("%v became %v", e, again)
		}
	})
}

// FuzzDecode reads records of any bytes: it never panics, and what it reads it would
// write the same way.
func FuzzDecode(f *testing.F) {
	m := newMember("m")
	m.Topics, m.Classic = []string{"t"}, &Classic{SessionMS: 1, Protocols: []Protocol{{"range", []byte{1}}}}
	m.Assigned = Owned{topicID(1): {0: 2, 1: 3}}
	for _, c := range []Change{setMember{m}, setCurrent{m}, setTarget{"m", Assignment{topicID(1): {0, 1}}}, setEpoch{3, -1}, setTargetEpoch{3, 4},
		setRegex{"t.*", Resolved{Topics: []string{"t"}, Version: 1, AtMS: 2}}, setTopics{}, dropMember{"m"}} {
		f.Add(c.Key("g"), c.Value())
	}
	f.Fuzz(func(t *testing.T, k, v []byte) {
		id, c, err := Decode(k, v)
		if err != nil || v == nil {
			return
		}
		id2, c2, err := Decode(c.Key(id), c.Value())
		if err != nil || id2 != id || string(c2.Value()) != string(c.Value()) {
			t.Errorf("%q %v became %q %v: %v", id, c, id2, c2, err)
		}
	})
}

// TestClassicMembersHaveProtocols reads a record of a classic member that has none, also
// by not saying anything about it: it is no classic member, whose first protocol would be
// looked at.
func TestClassicMembersHaveProtocols(t *testing.T) {
	m := newMember("m")
	m.Topics, m.Classic = []string{"t"}, &Classic{SessionMS: 1}
	c := setMember{m}
	whole := c.Value()
	tag := appendTag(nil, []byte{1, 0, 0, 0, 1, 1, 0})
	bare := append(bytes.Clone(bytes.TrimSuffix(whole, tag)), 0)
	if len(bare) >= len(whole) {
		t.Fatalf("%x does not end in %x", whole, tag)
	}
	for _, value := range [][]byte{whole, bare} {
		_, got, err := Decode(c.Key("g"), value)
		if err != nil {
			t.Fatal(err)
		}
		if said := got.(setMember).m; said.Classic != nil || len(said.Topics) != 1 {
			t.Errorf("%x is %+v, want no classic member", value, said)
		}
	}
}
