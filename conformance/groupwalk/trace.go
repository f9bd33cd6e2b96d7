package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// recorded is the trace of one group as a real Kafka left it.
type recorded struct {
	number int
	trace  []string
}

// writeTraces writes traces as readTraces reads them.
func writeTraces(w io.Writer, all []recorded) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "# Recorded from a real Kafka 4.4 by groupwalk -record. Do not edit.")
	for _, r := range all {
		fmt.Fprintf(b, "group %d\n%s\n", r.number, strings.Join(r.trace, "\n"))
	}
	return b.Flush()
}

// readTraces reads a file of traces.
func readTraces(text string) ([]recorded, error) {
	var all []recorded
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "group "):
			all = append(all, recorded{})
			if _, err := fmt.Sscanf(line, "group %d", &all[len(all)-1].number); err != nil {
				return nil, fmt.Errorf("line %d: %q: %w", i+1, line, err)
			}
		case len(all) == 0:
			return nil, fmt.Errorf("line %d: %q stands before any group", i+1, line)
		default:
			r := &all[len(all)-1]
			r.trace = append(r.trace, line)
		}
	}
	return all, nil
}

// script is the operations of a trace.
func (r recorded) script() ([]op, error) {
	var ops []op
	for _, line := range r.trace {
		mark, text, _ := strings.Cut(line, " ")
		if mark == "<" {
			continue
		}
		_, text, _ = strings.Cut(text, " ")
		o, err := parseOp(text)
		if err != nil {
			return nil, fmt.Errorf("group %d: %w", r.number, err)
		}
		ops = append(ops, o)
	}
	return ops, nil
}
