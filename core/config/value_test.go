package config

import (
	"math"
	"testing"
)

// TestDoublesArePrintedAsJavaDoes has values that Java's Double.toString gave.
func TestDoublesArePrintedAsJavaDoes(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{
		{0.5, "0.5"}, {1, "1.0"}, {0, "0.0"}, {100, "100.0"}, {1e7, "1.0E7"}, {1.5e-4, "1.5E-4"}, {0.001, "0.001"},
		{math.MaxFloat64, "1.7976931348623157E308"}, {-2.25, "-2.25"}, {9999999, "9999999.0"},
	} {
		if got := javaDouble(c.f); got != c.want {
			t.Errorf("%g: got %s, want %s", c.f, got, c.want)
		}
	}
}

// FuzzParse looks for values that do not read the same again: what is shown to a
// client must be acceptable as a new value.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1", " 77 ", "true", "0.5", "a, b,c", "", "-0", "1e400", ",,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, typ := range []Type{Boolean, String, Int, Short, Long, Double, List} {
			v, err := parse("k", typ, s)
			if err != nil {
				continue
			}
			again, err := parse("k", typ, v.Text)
			if err != nil || again.Text != v.Text {
				t.Errorf("%s %q is shown as %q, which reads as %q, %v", typ, s, v.Text, again.Text, err)
			}
		}
	})
}
