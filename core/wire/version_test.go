package wire

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// kmsg's generator reads the same message definitions; every version of every key
// must agree, or a header would be cut in the wrong place.
func TestFlexibleAgreesWithKmsg(t *testing.T) {
	checked := 0
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		req := kmsg.RequestForKey(key)
		if req == nil {
			continue
		}
		for v := int16(0); v <= req.MaxVersion(); v++ {
			req.SetVersion(v)
			checked++
			if got, want := Flexible(key, v), req.IsFlexible(); got != want {
				t.Errorf("%s v%d: flexible = %v, kmsg says %v", kmsg.NameForKey(key), v, got, want)
			}
		}
	}
	if checked < 300 {
		t.Fatalf("only %d versions checked", checked)
	}
}

func TestResponseHeaderOfAPIVersionsHasNoTags(t *testing.T) {
	if responseHeaderTags(KeyAPIVersions, 3) {
		t.Error("ApiVersions v3: response header v1, want v0: new clients cannot read it")
	}
	if !requestHeaderTags(KeyAPIVersions, 99) {
		t.Error("ApiVersions v99: request header v1, want v2")
	}
}
