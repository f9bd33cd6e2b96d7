package scenario

import (
	"fmt"
	"strings"
	"testing"
)

// echo plays a text in whichever form it has with the one command "say".
func echo(text string) string {
	var out strings.Builder
	say := func(words []string) { fmt.Fprintln(&out, words[1]) }
	if strings.Contains(text, "----") {
		return Blocks(text, &out, func(line string) { say(strings.Fields(line)) })
	}
	return Steps(text, &out, say)
}

func TestPlay(t *testing.T) {
	Play(t, func(_ *testing.T, text string) string { return echo(text) })
}

// TestOutputsAreWhatCommandsPrint holds that what stood in a file does not stay there.
func TestOutputsAreWhatCommandsPrint(t *testing.T) {
	for _, c := range [][2]string{
		{"# why\nsay a\n----\nold\nolder\n\nsay b\n----\n", "# why\nsay a\n----\na\n\nsay b\n----\nb\n"},
		{"# why\n> say a\nold\nolder\n\n> say b\n", "# why\n> say a\na\n\n> say b\nb\n"},
	} {
		if got := echo(c[0]); got != c[1] {
			t.Errorf("%q became %q, want %q", c[0], got, c[1])
		}
	}
}
