package metadata

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/scenario"
)

// fields lists the numbered fields of a type and of what they are made of, each type once.
func fields(out *strings.Builder, t reflect.Type, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	fmt.Fprintln(out, t.Name())
	for n := range t.NumField() {
		f := t.Field(n)
		fmt.Fprintf(out, "  %s %s %q\n", f.Name, f.Type, f.Tag.Get("cbor"))
	}
	for n := range t.NumField() {
		fields(out, t.Field(n).Type, seen)
	}
}

// TestFormat holds everything that nodes write to Format: who changes a field raises the
// number, or a node of another build would stop at it. -rewrite writes the list anew.
func TestFormat(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, "format %d\n", Format)
	seen := map[reflect.Type]bool{}
	for k := kind(1); newCommand(k) != nil; k++ {
		fmt.Fprintf(&out, "kind %d: %T\n", k, newCommand(k))
		fields(&out, reflect.TypeOf(newCommand(k)), seen)
	}
	for _, v := range []any{snapshotHeader{}, snapshotBroker{}, snapshotFeature{}, snapshotConfig{}, snapshotTopic{}, snapshotPlugin{}, result{}} {
		fields(&out, reflect.TypeOf(v), seen)
	}
	scenario.Golden(t, "testdata/format.golden", out.String())
}

// What a later build wrote is whole, and called by its name.
func TestNewerBuildIsNotDamage(t *testing.T) {
	whole, err := EncodeCommand(&FenceBroker{ID: 1, Epoch: 2})
	if err != nil {
		t.Fatal(err)
	}
	command := func(change func(b []byte) []byte) []byte {
		b := change(append([]byte{}, whole...))
		sum := commandChecksum(b)
		b[checksumAt], b[checksumAt+1], b[checksumAt+2], b[checksumAt+3] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
		return b
	}
	for name, b := range map[string][]byte{
		"version": command(func(b []byte) []byte { b[0] = commandVersion + 1; return b }),
		"kind":    command(func(b []byte) []byte { b[1] = 250; return b }),
		"field":   command(func(b []byte) []byte { b[commandHeader]++; return append(b, 0x18, 0x63, 0x01) }), // 99: 1
	} {
		if c, err := DecodeCommand(b); !errors.Is(err, ErrNewer) || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %+v, %v, want ErrNewer", name, c, err)
		}
	}
	if _, err := DecodeCommand(whole[:len(whole)-1]); errors.Is(err, ErrNewer) {
		t.Errorf("a cut command: %v", err)
	}
	if _, err := ReadSnapshot(strings.NewReader(snapshotMagic + "\x02")); !errors.Is(err, ErrNewer) {
		t.Errorf("a snapshot of another version: %v, want ErrNewer", err)
	}
}
