package host

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// FuzzPrinted reads any bytes as go-plugin's message about output.
func FuzzPrinted(f *testing.F) {
	message := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	message = protowire.AppendBytes(protowire.AppendTag(message, stdioData, protowire.BytesType), []byte("text"))
	if got := printed(message); string(got) != "text" {
		f.Fatalf("printed %q, want text", got)
	}
	f.Add(message)
	f.Add(message[:len(message)-1])
	f.Fuzz(func(t *testing.T, message []byte) {
		if got := printed(message); !bytes.Contains(message, got) {
			t.Fatalf("%q is not in the message", got)
		}
	})
}
