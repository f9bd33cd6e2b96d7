package seeded

import (
	"flag"
	"testing"

	"pgregory.net/rapid"
)

// seed is what tests draw with when the command line names none, for rapid one by
// chance.
const seed = "1"

// Check is rapid.Check with the seed of this package, or that of -rapid.seed.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	if f := flag.Lookup("rapid.seed"); f.Value.String() == "0" {
		if err := f.Value.Set(seed); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, property)
}
