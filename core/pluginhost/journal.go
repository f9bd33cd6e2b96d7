package pluginhost

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/time/rate"
)

// Bounds of what is kept of a plugin's log.
const (
	LinesMax     = 1000 // of one plugin
	LineMax      = 4096 // bytes of one line
	lineRate     = 100  // lines a second in the long run
	lineBurst    = 300
	truncateMark = "…"
)

// Line is one line that a plugin wrote.
type Line struct {
	Time       time.Time `json:"time"`
	Generation uint64    `json:"generation"`
	Text       string    `json:"text"`
}

// journal keeps the last lines of one plugin over its generations. It is safe for
// concurrent use.
type journal struct {
	limit *rate.Limiter

	mu      sync.Mutex
	lines   []Line // a ring once it is full; guarded by mu
	next    int    // where the next goes in a full ring; guarded by mu
	dropped uint64 // since the last line that was kept; guarded by mu
}

func newJournal() *journal { return &journal{limit: rate.NewLimiter(lineRate, lineBurst)} }

// add keeps a line unless there were too many lately. It returns what was kept: no
// line, one, or two when one tells how many were dropped before.
func (j *journal) add(now time.Time, generation uint64, raw []byte) []Line {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.limit.AllowN(now, 1) {
		j.dropped++
		return nil
	}
	var kept []Line
	if j.dropped > 0 {
		kept = append(kept, Line{now, generation, strconv.FormatUint(j.dropped, 10) + " lines were dropped: the plugin writes too much"})
		j.dropped = 0
	}
	kept = append(kept, Line{now, generation, clean(raw)})
	for _, l := range kept {
		j.keep(l)
	}
	return kept
}

// keep puts a line into the ring. Caller holds mu.
func (j *journal) keep(l Line) {
	if len(j.lines) < LinesMax {
		j.lines = append(j.lines, l)
		return
	}
	j.lines[j.next] = l
	j.next = (j.next + 1) % LinesMax
}

// all is what is kept, oldest first.
func (j *journal) all() []Line {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]Line, 0, len(j.lines))
	out = append(out, j.lines[j.next:]...)
	return append(out, j.lines[:j.next]...)
}

// lineWriter makes an io.Writer, of whom each Write is a line, of who takes lines.
type lineWriter func(line []byte)

// Write implements io.Writer.
func (w lineWriter) Write(line []byte) (int, error) {
	w(bytes.TrimSuffix(line, []byte("\n")))
	return len(line), nil
}

// clean makes text of what a plugin wrote: valid UTF-8 of bounded length without
// control characters, so that no terminal and no reader of the log is fooled.
func clean(raw []byte) string {
	cut := len(raw) > LineMax
	if cut {
		raw = raw[:LineMax]
	}
	var b strings.Builder
	b.Grow(len(raw))
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		switch {
		case r == utf8.RuneError && n <= 1:
			b.WriteRune(utf8.RuneError)
		case r == '\t':
			b.WriteByte(' ')
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
		raw = raw[n:]
	}
	if cut {
		b.WriteString(truncateMark)
	}
	return b.String()
}
