package main

import (
	"fmt"
	"time"
)

// trio is what the sides showed for one row. theirs and bare may be missing.
type trio struct {
	ours         result
	theirs, bare *result
}

// limit is one condition of a target.
type limit struct {
	text string
	met  func(t trio) (met, known bool)
}

// against makes a limit on a quotient of ours and theirs.
func against(text string, met func(ours, theirs result) bool) limit {
	return limit{text, func(t trio) (bool, bool) {
		if t.theirs == nil {
			return false, false
		}
		return met(t.ours, *t.theirs), true
	}}
}

// faster wants so many times Kafka's throughput.
func faster(times float64) limit {
	return against(fmt.Sprintf("≥ %g×", times), func(o, k result) bool { return throughput(o) >= times*throughput(k) })
}

// cheaper wants at most so much of Kafka's CPU for a byte.
func cheaper(share float64) limit {
	return against(fmt.Sprintf("≤ %g× CPU", share), func(o, k result) bool { return cpuPerGiB(o) <= share*cpuPerGiB(k) })
}

// quicker wants at most so much of Kafka's p99.
func quicker(share float64) limit {
	return against(fmt.Sprintf("p99 ≤ %g×", share), func(o, k result) bool {
		return o.latency.at(0.99).Seconds() <= share*k.latency.at(0.99).Seconds()
	})
}

// ofBare wants so much of the bare sendfile loop's throughput.
func ofBare(share float64) limit {
	return limit{fmt.Sprintf("≥ %g %% of bare sendfile", 100*share), func(t trio) (bool, bool) {
		if t.bare == nil {
			return false, false
		}
		return throughput(t.ours) >= share*throughput(*t.bare), true
	}}
}

// cpuEach bounds the CPU of one request.
func cpuEach(most time.Duration) limit {
	return limit{fmt.Sprintf("≤ %g µs", most.Seconds()*1e6), func(t trio) (bool, bool) {
		return t.ours.cpuEach() <= most, true
	}}
}

// quantile bounds a latency.
func quantile(name string, q float64, most time.Duration) limit {
	return limit{fmt.Sprintf("%s ≤ %g ms", name, most.Seconds()*1e3), func(t trio) (bool, bool) {
		return t.ours.latency.at(q) <= most, true
	}}
}

// judge shows the limits, each with a mark: met, missed, or not measured.
func judge(limits []limit, t trio) string {
	text := ""
	for _, l := range limits {
		mark := "?"
		if met, known := l.met(t); met {
			mark = "✓"
		} else if known {
			mark = "✗"
		}
		if text != "" {
			text += ", "
		}
		text += l.text + " " + mark
	}
	return text
}
