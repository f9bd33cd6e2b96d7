package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// tally is what the walks of one kind came to.
type tally struct {
	groups, operations, drawn, forgotten int
	suspects                             []*walker
	err                                  error
}

// compare walks all kinds at once until the time is over, then looks again at each
// difference. It fails when one is confirmed.
func (o options) compare(sides []*side, prefix string) error {
	end := time.Now().Add(o.limit)
	all := kinds()
	tallies := make([]tally, len(all))
	var running sync.WaitGroup
	for k := range all {
		running.Go(func() {
			for batch := 0; (o.batches == 0 || batch < o.batches) && time.Now().Before(end) && tallies[k].err == nil; batch++ {
				o.batch(sides, prefix, k, batch, &tallies[k], func() bool { return time.Now().After(end) })
			}
		})
	}
	running.Wait()
	var suspects []*walker
	for k, t := range tallies {
		if t.err != nil {
			return t.err
		}
		fmt.Printf("%s: %d groups, %d operations; ended early: %d where Kafka draws a leader, %d where it forgets a request; %d looked different\n",
			all[k].name, t.groups, t.operations, t.drawn, t.forgotten, len(t.suspects))
		suspects = append(suspects, t.suspects...)
	}
	return o.report(&lab{sides: sides, prefix: prefix + "-again"}, suspects)
}

// batch walks some groups of a kind side by side.
func (o options) batch(sides []*side, prefix string, k, batch int, t *tally, stop func() bool) {
	groups, err := o.walkers(sides, prefix, k, batch)
	if err != nil {
		t.err = err
		return
	}
	walk(groups, stop)
	for _, w := range groups {
		t.groups++
		t.operations += w.steps()
		switch w.end {
		case drawn:
			t.drawn++
		case forgotten:
			t.forgotten++
		case differs:
			t.suspects = append(t.suspects, w)
		}
	}
}

// walkers makes the groups of a batch and waits until the brokers serve them.
func (o options) walkers(sides []*side, prefix string, k, batch int) ([]*walker, error) {
	all := kinds()
	var groups []*walker
	var names []string
	for i := range o.groups {
		number := (batch*o.groups+i)*len(all) + k
		name := fmt.Sprintf("%s-%d", prefix, number)
		names = append(names, name)
		groups = append(groups, newWalker(sides, number, name, all[k].script(o.seed, number)))
	}
	for _, s := range sides {
		if err := s.prepare(names); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// Bounds of report: how many groups are looked at again, and how many are shown.
const (
	againMax = 40
	shownMax = 6
)

// report looks again at differences and prints one of each cause that is confirmed.
func (o options) report(l *lab, suspects []*walker) error {
	suspects = suspects[:min(len(suspects), againMax)]
	confirmed, err := l.confirm(suspects)
	if err != nil {
		return err
	}
	again := len(confirmed)
	if confirmed, err = l.patiently(confirmed); err != nil {
		return err
	}
	fmt.Printf("%d groups looked at again, %d differ each time, %d of them with longer timeouts too\n", len(suspects), again, len(confirmed))
	seen := make(map[string]bool)
	for _, w := range confirmed {
		if seen[w.signature()] || len(seen) == shownMax {
			continue
		}
		seen[w.signature()] = true
		small, err := l.shrink(w)
		if err != nil {
			return err
		}
		fmt.Printf("group %d differs; again with -seed %d -group %d. Cut to %d operations:\n%s\n",
			w.number, o.seed, w.number, small.steps(), small.difference())
	}
	if len(confirmed) > 0 {
		return fmt.Errorf("of %d groups that were looked at again %d differ (seed %d)", len(suspects), len(confirmed), o.seed)
	}
	return nil
}

// recordTraces walks one batch of each kind and writes Kafka's traces of the groups
// that do not differ: up to where they end.
func (o options) recordTraces(sides []*side, prefix string) error {
	all := kinds()
	failed := make([]error, len(all))
	var running sync.WaitGroup
	for k := range all {
		running.Go(func() {
			groups, err := o.walkers(sides, prefix, k, 0)
			if err != nil {
				failed[k] = err
				return
			}
			walk(groups, func() bool { return false })
			failed[k] = writeFile(filepath.Join(o.record, all[k].name+".txt"), groups)
		})
	}
	running.Wait()
	return errors.Join(failed...)
}

func writeFile(path string, groups []*walker) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	var traces []recorded
	for _, w := range groups {
		if w.end != differs {
			traces = append(traces, recorded{number: w.number, trace: w.views[0].trace})
		}
	}
	fmt.Printf("%s: %d of %d groups agree\n", path, len(traces), len(groups))
	return errors.Join(writeTraces(f, traces), f.Close())
}
