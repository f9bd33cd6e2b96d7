package wire

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDecodeMessageIgnoresTrailingBytes(t *testing.T) {
	want := kmsg.NewPtrDeleteTopicsRequest()
	want.Version, want.TopicNames = 3, []string{"a", "b"}
	r, _ := RecordBytes(Header{Key: want.Key(), Version: 3}, append(want.AppendTo(nil), "more"...))
	got := kmsg.NewPtrDeleteTopicsRequest()
	if err := DecodeMessage(r, got); err != nil || len(got.TopicNames) != 2 || got.Version != 3 {
		t.Fatalf("got %+v, error %v", got, err)
	}
}

// amplification is how many bytes may be allocated for each byte of a body: kmsg
// makes a struct of up to some hundred bytes for an element of two.
const amplification = 256

// Bodies that are nothing but large lengths, of every key and version.
func TestDecodeMessageHostileLengths(t *testing.T) {
	fills := [][]byte{{0x7f, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xff, 0x07}, {0x80, 0x80, 0x80, 0x80, 0x08}, {0, 0, 0xff, 0xf0}, {0xf0, 0x1f}}
	const size = 4096
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		req := kmsg.RequestForKey(key)
		if req == nil {
			continue
		}
		for v := int16(0); v <= req.MaxVersion(); v++ {
			for _, fill := range fills {
				for shift := range 4 {
					body := append(make([]byte, shift), bytes.Repeat(fill, size/len(fill))...)
					r, _ := RecordBytes(Header{Key: key, Version: v}, body)
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					err := DecodeMessage(r, kmsg.RequestForKey(key))
					runtime.ReadMemStats(&after)
					if err != nil && !errors.Is(err, ErrMalformed) {
						t.Fatalf("%s v%d: %v is not ErrMalformed", kmsg.NameForKey(key), v, err)
					}
					if n := after.TotalAlloc - before.TotalAlloc; n > size*amplification {
						t.Fatalf("%s v%d: %d bytes allocated for a body of %d", kmsg.NameForKey(key), v, n, len(body))
					}
				}
			}
		}
	}
}
