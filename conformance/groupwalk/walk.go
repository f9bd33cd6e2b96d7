package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// walker is one group of a walk, on each side.
type walker struct {
	number int // the group's number: with the seed it gives the script
	script []op
	views  []*view
	equal  int // how many lines of the traces were found equal
	end    outcome
}

// outcome says how far the traces of a group agree.
type outcome int

const (
	agrees    outcome = iota
	differs           // the broker under test does something else
	drawn             // Kafka drew a leader, and Mortise another
	forgotten         // Kafka forgot a parked request that Mortise answers
)

// Times of a walk. A round ends when nothing came for quiet, provided that the sides
// have answered the same requests; if they have not, patience is the end.
const (
	tick     = 10 * time.Millisecond
	quiet    = 60 * time.Millisecond
	patience = 2500 * time.Millisecond
)

// pauseOf is how long time passes: four short timeouts may follow from each other after
// the last operation of a stride, and a fifth must not fall into the next stride.
func pauseOf(short time.Duration) time.Duration { return 4*short + short/2 }

// newWalker prepares a group under a name that no other has.
func newWalker(sides []*side, number int, name string, script []op) *walker {
	w := &walker{number: number, script: script}
	for _, s := range sides {
		w.views = append(w.views, newView(s, name))
	}
	return w
}

// walk takes all groups through their scripts, one operation a round, until the last
// ends or stop says so.
func walk(groups []*walker, stop func() bool) {
	var arrivals atomic.Int64
	for step := 0; !stop(); step++ {
		paused, moved := false, false
		for _, w := range groups {
			if w.end != agrees || step >= len(w.script) {
				continue
			}
			o := w.script[step]
			paused, moved = paused || o.do == pause, true
			for _, v := range w.views {
				if v.waits(o) {
					v.note(fmt.Sprintf("- %d %s", step, o))
					continue
				}
				v.note(fmt.Sprintf("> %d %s", step, o))
				v.send(step, o, &arrivals)
			}
		}
		if !moved {
			return
		}
		if paused {
			time.Sleep(pauseOf(groups[0].views[0].side.short))
		}
		settle(groups, &arrivals)
		for _, w := range groups {
			w.look()
		}
	}
}

// settle waits until the sides are quiet and have answered the same.
func settle(groups []*walker, arrivals *atomic.Int64) {
	begin, last, seen := time.Now(), time.Now(), int64(-1)
	for time.Since(begin) < patience {
		time.Sleep(tick)
		if now := arrivals.Load(); now != seen {
			seen, last = now, time.Now()
		} else if time.Since(last) >= quiet && !slices.ContainsFunc(groups, (*walker).uneven) {
			return
		}
	}
}

// uneven says whether one side has answered what the other has not.
func (w *walker) uneven() bool {
	if w.end != agrees {
		return false
	}
	first := w.views[0].parked()
	return slices.ContainsFunc(w.views[1:], func(v *view) bool { return !slices.Equal(v.parked(), first) })
}

// parked lists the operations without an answer.
func (v *view) parked() []int {
	var open []int
	for _, c := range v.calls {
		if !c.done() {
			open = append(open, c.number)
		}
	}
	return open
}

// isParked says whether the operation with that number in text has no answer.
func (v *view) isParked(number string) bool {
	return slices.ContainsFunc(v.calls, func(c *call) bool { return fmt.Sprint(c.number) == number })
}

// look brings the traces up to date and compares what is new.
func (w *walker) look() {
	if w.end != agrees {
		return
	}
	for _, v := range w.views {
		v.collect()
	}
	want := w.views[0].trace
	for _, v := range w.views[1:] {
		for i := w.equal; i < max(len(want), len(v.trace)); i++ {
			if w.end = judge(line(want, i), line(v.trace, i), w.views[0].isParked); w.end != agrees {
				return
			}
		}
	}
	w.equal = len(want)
}

// line is a line of a trace, or nothing.
func line(trace []string, i int) string {
	if i < len(trace) {
		return trace[i]
	}
	return ""
}

// leadership is what an answer of JoinGroup says about who leads.
var leadership = regexp.MustCompile(` LeaderID:\S+| Members:\[.*\]`)

// late is what Mortise answers to a parked request whose member is gone.
var late = regexp.MustCompile(`^< ([0-9]+) {ErrorCode:(UNKNOWN_MEMBER_ID|FENCED_INSTANCE_ID) `)

// judge compares two lines of traces. parked says whether Kafka has not answered the
// operation with that number.
func judge(want, got string, parked func(number string) bool) outcome {
	switch {
	case want == got:
		return agrees
	case strings.Contains(want, "LeaderID:") && leadership.ReplaceAllString(want, "") == leadership.ReplaceAllString(got, ""):
		return drawn
	}
	if m := late.FindStringSubmatch(got); m != nil && parked(m[1]) {
		return forgotten
	}
	return differs
}

// context is how many lines before a difference are shown.
const context = 30

// difference shows both traces from shortly before they part.
func (w *walker) difference() string {
	var b strings.Builder
	from := max(0, w.equal-context)
	for _, line := range w.views[0].trace[from:w.equal] {
		fmt.Fprintln(&b, "   ", line)
	}
	for _, v := range w.views {
		for _, line := range v.trace[w.equal:] {
			fmt.Fprintf(&b, "%8s  %s\n", v.side.name, line)
		}
		if open := v.parked(); len(open) > 0 {
			fmt.Fprintf(&b, "%8s  still parked: %v\n", v.side.name, open)
		}
	}
	return b.String()
}

// steps is how many operations were taken.
func (w *walker) steps() int {
	n := 0
	for _, line := range w.views[0].trace {
		if line[0] != '<' {
			n++
		}
	}
	return n
}

// signature is what a difference is about: differences of one cause mostly share it.
func (w *walker) signature() string {
	text := w.script[w.steps()-1].do
	for _, v := range w.views {
		text += digit.ReplaceAllString(line(v.trace, w.equal), "")
	}
	return text
}

var digit = regexp.MustCompile("[0-9]+")
