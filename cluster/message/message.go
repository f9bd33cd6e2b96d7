package message

import (
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// Bounds of a message.
const (
	elementsMax = 1 << 16 // in one array or map
	nestingMax  = 8
)

// form writes and reads messages.
type form struct {
	enc cbor.EncMode
	dec cbor.DecMode
}

// modes is the form, built when it is first needed and never changed.
var modes = sync.OnceValue(newForm)

// newForm builds the form. Its options are constant, so an error is ours.
func newForm() form {
	enc, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic("BUG: CBOR encoder options: " + err.Error())
	}
	dec, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		UTF8: cbor.UTF8RejectInvalid, MaxNestedLevels: nestingMax, MaxArrayElements: elementsMax, MaxMapPairs: elementsMax,
	}.DecMode()
	if err != nil {
		panic("BUG: CBOR decoder options: " + err.Error())
	}
	return form{enc, dec}
}

// Encode is the bytes of v, with the shortest form of everything.
func Encode(v any) ([]byte, error) { return modes().enc.Marshal(v) }

// Decode reads all of b into v. On an error v may be half filled.
func Decode(b []byte, v any) error { return modes().dec.Unmarshal(b, v) }
