package main

import (
	"fmt"
	"math"
	"strings"
)

// row is a finished line of the table.
type row struct {
	name, ours, theirs, ratio, target string
}

// row makes a line of what the sides showed.
func (s scenario) row(t trio) row {
	r := row{name: s.name, ours: s.show(t.ours), target: judge(s.limits, t)}
	if t.theirs != nil {
		r.theirs = s.show(*t.theirs)
		r.ratio = s.ratio(t.ours, *t.theirs)
	}
	if t.bare != nil {
		r.ratio += fmt.Sprintf("; bare loop %s: %.0f %%", s.show(*t.bare), 100*throughput(t.ours)/throughput(*t.bare))
	}
	return r
}

// ratio shows ours over theirs: what the scenario is about, and CPU for a byte.
func (s scenario) ratio(ours, theirs result) string {
	return fmt.Sprintf("%.2f×, %.2f× CPU", s.figure(ours)/s.figure(theirs), cpuPerGiB(ours)/cpuPerGiB(theirs))
}

// lifeRows are the lines of the lifecycle, in the order of names.
func lifeRows(names []lifeName, ours, theirs map[string]measure) []row {
	var rows []row
	for _, n := range names {
		m := ours[n.name]
		mark := " ✗"
		switch {
		case math.IsInf(n.most, 1):
			mark = ""
		case m.value <= n.most:
			mark = " ✓"
		}
		r := row{name: n.name, ours: m.text, target: n.target + mark}
		if theirs != nil {
			r.theirs, r.ratio = theirs[n.name].text, fmt.Sprintf("%.3f×", m.value/theirs[n.name].value)
		}
		rows = append(rows, r)
	}
	return rows
}

// table prints rows as Markdown.
func (o options) table(rows []row) string {
	var b strings.Builder
	theirs, short := "Kafka 4.4", "Kafka"
	if o.against != "" {
		theirs, short = "other build", "other"
	}
	fmt.Fprintf(&b, "| workload | Mortise | %s | Mortise / %s | target |\n|---|---|---|---|---|\n", theirs, short)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.name, r.ours, r.theirs, r.ratio, r.target)
	}
	return b.String()
}
