package message

import (
	"bytes"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// said is a message as rooms have them.
type said struct {
	ID   int32    `cbor:"1,keyasint"`
	Text string   `cbor:"2,keyasint,omitempty"`
	List []uint64 `cbor:"3,keyasint,omitempty"`
}

func TestMessagesOfLaterBuildsAreRead(t *testing.T) {
	b, err := Encode(map[int]any{1: 9, 2: "x", 30: []string{"news"}})
	if err != nil {
		t.Fatal(err)
	}
	var v said
	if err := Decode(b, &v); err != nil || v.ID != 9 || v.Text != "x" {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestHostileMessagesAreRefused(t *testing.T) {
	loose := func(v any) []byte {
		b, err := cbor.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, b := range map[string][]byte{
		"nothing":                    {},
		"two of one field":           {0xa2, 0x01, 0x09, 0x01, 0x09},
		"more after it":              append(loose(said{ID: 1}), 0),
		"no UTF-8":                   {0xa2, 0x01, 0x09, 0x02, 0x61, 0xff},
		"a tag":                      {0xa1, 0x01, 0xc1, 0x09},
		"no length":                  {0xbf, 0x01, 0x09, 0xff},
		"a length that is not there": {0xa2, 0x01, 0x09, 0x03, 0x9a, 0xff, 0xff, 0xff, 0xff},
		"too many elements":          loose(said{List: make([]uint64, elementsMax+1)}),
		"deep":                       append([]byte{0xa1, 0x18, 0x1e}, append(bytes.Repeat([]byte{0x81}, nestingMax), 0)...),
		"another type":               loose(map[int]any{1: "x"}),
		"too large":                  loose(map[int]any{1: 1 << 40}),
	} {
		if err := Decode(b, new(said)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}
