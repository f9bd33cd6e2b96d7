package main

import (
	"fmt"
	"slices"
	"time"
)

// lab repeats scripts under new names.
type lab struct {
	sides  []*side
	prefix string
	made   int
}

// name is the next unused name.
func (l *lab) name() string {
	l.made++
	return fmt.Sprintf("%s-%d", l.prefix, l.made)
}

// try walks scripts side by side, with nobody else on the brokers.
func (l *lab) try(number []int, scripts [][]op) ([]*walker, error) {
	var groups []*walker
	var names []string
	for i, script := range scripts {
		name := l.name()
		names = append(names, name)
		groups = append(groups, newWalker(l.sides, number[i], name, script))
	}
	for _, s := range l.sides {
		if err := s.prepare(names); err != nil {
			return nil, err
		}
	}
	walk(groups, func() bool { return false })
	return groups, nil
}

// confirmations is how often a difference must show again. Who of two members comes first
// may hang on ids that the brokers draw at random: then they differ every other time.
const confirmations = 8

// confirm repeats the scripts of all suspects and returns a walker of each that
// differs each time.
func (l *lab) confirm(suspects []*walker) ([]*walker, error) {
	var numbers []int
	var scripts [][]op
	for _, w := range suspects {
		for range confirmations {
			numbers, scripts = append(numbers, w.number), append(scripts, w.script)
		}
	}
	if len(scripts) == 0 {
		return nil, nil
	}
	groups, err := l.try(numbers, scripts)
	if err != nil {
		return nil, err
	}
	var confirmed []*walker
	for tries := range slices.Chunk(groups, confirmations) {
		if !slices.ContainsFunc(tries, func(w *walker) bool { return w.end != differs }) {
			confirmed = append(confirmed, tries[0])
		}
	}
	return confirmed, nil
}

// patiently repeats the scripts of walkers up to where they differ, with short timeouts
// that a busy machine keeps, and returns those that differ all the same.
func (l *lab) patiently(suspects []*walker) ([]*walker, error) {
	for _, s := range l.sides {
		defer func(was time.Duration) { s.short = was }(s.short)
		s.short = max(s.short, shortPatient)
	}
	for _, w := range suspects {
		w.script = w.script[:w.steps()]
	}
	return l.confirm(suspects)
}

// shrinkRounds bounds how often shrink looks for something to leave out.
const shrinkRounds = 12

// shrink leaves out of a walker's script what its difference does not need, and
// returns the walker that still shows it.
func (l *lab) shrink(best *walker) (*walker, error) {
	for range shrinkRounds {
		scripts := without(best.script[:best.steps()])
		smaller, err := l.try(slices.Repeat([]int{best.number}, len(scripts)), scripts)
		if err != nil {
			return nil, err
		}
		smaller = slices.DeleteFunc(smaller, func(w *walker) bool { return w.end != differs || w.signature() != best.signature() })
		if len(smaller) == 0 {
			break
		}
		best = slices.MinFunc(smaller, func(a, b *walker) int { return len(a.script) - len(b.script) })
	}
	return best, nil
}

// without lists a script without each half, quarter and so on to each operation.
func without(script []op) [][]op {
	var all [][]op
	for size := len(script) / 2; size >= 1; size /= 2 {
		for from := 0; from+size <= len(script); from += size {
			all = append(all, slices.Delete(slices.Clone(script), from, from+size))
		}
	}
	return all
}
