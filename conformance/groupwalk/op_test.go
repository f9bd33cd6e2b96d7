package main

import (
	"testing"
)

// TestOpsReadBack holds that every operation of the scripts is the same after it was
// written and read. Otherwise a recorded trace would replay something else.
func TestOpsReadBack(t *testing.T) {
	for group := range 2 * len(kinds()) {
		for _, want := range scriptOf(3, group) {
			got, err := parseOp(want.String())
			if err != nil || got.String() != want.String() {
				t.Errorf("%q reads %q, %v", want, got, err)
			}
		}
	}
	for _, bad := range []string{"", "join", "join 1 v0", "join s9 v0", "join s1 vx", "join s1 v1 id", "dance s1 v1"} {
		if o, err := parseOp(bad); err == nil {
			t.Errorf("%q was read as %v, want an error", bad, o)
		}
	}
}

// TestScriptsDependOnSeedAndGroup holds what the printed command to repeat relies on.
func TestScriptsDependOnSeedAndGroup(t *testing.T) {
	text := func(seed uint64, group int) (all string) {
		for _, o := range scriptOf(seed, group) {
			all += o.String() + "\n"
		}
		return all
	}
	if again := text(1, 2); again != text(1, 2) {
		t.Error("the same seed and group give two scripts")
	}
	if text(1, 2) == text(2, 2) || text(1, 2) == text(1, 4) {
		t.Error("another seed or group gives the same script")
	}
}
