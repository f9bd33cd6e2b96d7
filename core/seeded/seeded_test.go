package seeded_test

import (
	"flag"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/seeded"
)

// Two checks draw the same, unless the command line names another seed.
func TestTheSameIsDrawnAgain(t *testing.T) {
	draw := func() (drawn []int) {
		seeded.Check(t, func(t *rapid.T) { drawn = append(drawn, rapid.Int().Draw(t, "number")) })
		return drawn
	}
	first := draw()
	if second := draw(); !slices.Equal(first, second) {
		t.Errorf("%v, then %v", first, second)
	}
	f := flag.Lookup("rapid.seed")
	was := f.Value.String()
	defer f.Value.Set(was)
	if err := f.Value.Set(was + "7"); err != nil {
		t.Fatal(err)
	}
	if other := draw(); slices.Equal(first, other) {
		t.Errorf("seed %s7 draws what %s does", was, was)
	}
}
