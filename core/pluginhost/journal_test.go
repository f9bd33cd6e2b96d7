package pluginhost

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestJournalKeepsTheLastLines(t *testing.T) {
	j := newJournal()
	now := time.UnixMilli(1_700_000_000_000)
	for i := range LinesMax + 5 {
		j.add(now.Add(time.Duration(i)*time.Second), 3, fmt.Appendf(nil, "line %d", i))
	}
	all := j.all()
	if len(all) != LinesMax || all[0].Text != "line 5" || all[LinesMax-1].Text != fmt.Sprintf("line %d", LinesMax+4) || all[0].Generation != 3 {
		t.Errorf("%d lines from %+v to %+v", len(all), all[0], all[len(all)-1])
	}
}

// TestJournalIsRateLimited holds that a plugin that writes without end is cut off,
// and that a line says so later.
func TestJournalIsRateLimited(t *testing.T) {
	j := newJournal()
	now := time.UnixMilli(1_700_000_000_000)
	kept := 0
	for range 10_000 {
		kept += len(j.add(now, 1, []byte("x")))
	}
	if kept != lineBurst {
		t.Errorf("%d lines at one moment, want %d", kept, lineBurst)
	}
	now = now.Add(time.Second)
	if lines := j.add(now, 1, []byte("y")); len(lines) != 2 || !strings.HasPrefix(lines[0].Text, "9700 lines were dropped") || lines[1].Text != "y" {
		t.Errorf("a second later: %+v, want how many were dropped, and the line", lines)
	}
	kept = 1
	for range 10_000 {
		kept += len(j.add(now, 1, []byte("x")))
	}
	if kept != lineRate {
		t.Errorf("%d lines in the second after, want %d", kept, lineRate)
	}
}

func TestClean(t *testing.T) {
	cases := map[string]string{
		"plain äöü":                          "plain äöü",
		"a\tb":                               "a b",
		"\x1b[31mred":                        "?[31mred",
		"cr\rlf\nnul\x00":                    "cr?lf?nul?",
		"bad \xff utf-8":                     "bad \ufffd utf-8",
		"bidi \u202e over":                   "bidi ? over",
		"sep\u2028":                          "sep?",
		strings.Repeat("a", LineMax+1):       strings.Repeat("a", LineMax) + truncateMark,
		strings.Repeat("a", LineMax-1) + "ä": strings.Repeat("a", LineMax-1) + "\ufffd" + truncateMark,
	}
	for raw, want := range cases {
		if got := clean([]byte(raw)); got != want {
			t.Errorf("%.40q: %.80q, want %.80q", raw, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add([]byte("\x1b]0;title\x07"))
	f.Add([]byte{0xf0, 0x9f, 0x92})
	f.Fuzz(func(t *testing.T, raw []byte) {
		text := clean(raw)
		if !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\r\n\x00\x7f") || len(text) > 3*LineMax+len(truncateMark) {
			t.Errorf("%q became %q", raw, text)
		}
		if again := clean([]byte(text)); len(text) <= LineMax && again != text {
			t.Errorf("%q became %q, then %q", raw, text, again)
		}
	})
}
