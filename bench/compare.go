package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// sides are the processes that are compared. theirs is nil when Mortise runs
// alone.
type sides struct {
	ours, theirs, bare *broker
}

// all are the sides that there are, ours first.
func (s sides) all() []*broker {
	return slices.DeleteFunc([]*broker{s.ours, s.theirs, s.bare}, func(b *broker) bool { return b == nil })
}

// loads runs the workloads, the sides in turn, each several times.
func (o options) loads(s sides) ([]row, error) {
	chosen := slices.DeleteFunc(scenarios(o.scale), func(s scenario) bool { return !strings.Contains(s.name, o.only) })
	if len(chosen) == 0 {
		return nil, nil
	}
	for _, b := range s.all() {
		if err := b.fresh(); err != nil {
			return nil, err
		}
		defer b.stop() //nolint:errcheck // a broker that is gone has shown it already
		if b == s.bare {
			continue
		}
		if err := o.warm(b); err != nil {
			return nil, fmt.Errorf("%s: warm up: %w", b.name, err)
		}
	}
	var rows []row
	for _, sc := range chosen {
		t, err := o.compare(sc, s)
		if err != nil {
			return rows, err
		}
		rows = append(rows, sc.row(t))
	}
	return rows, nil
}

// warm makes the topic that the readers read, and takes a broker through enough
// for its compiler.
func (o options) warm(b *broker) error {
	if err := b.createTopic(warmTopic, nil); err != nil {
		return err
	}
	l := produceLoad{topic: warmTopic, partitions: partitions, perRequest: 1, records: bareRecords, recordBytes: bareValue,
		connections: 2, inFlight: 5, totalBytes: warmReadMiB * mib, acksAll: b.followers != nil}
	if b.followers != nil { // nobody reads of a cluster by the GiB
		l.totalBytes = int64(min(o.warmMiB, warmReadMiB)) * mib
	}
	if _, err := l.run(b.addr); err != nil {
		return err
	}
	if more := l; o.warmMiB > warmReadMiB {
		if err := b.createTopic("warm-more", nil); err != nil {
			return err
		}
		more.topic, more.totalBytes = "warm-more", int64(o.warmMiB-warmReadMiB)*mib
		if _, err := more.run(b.addr); err != nil {
			return err
		}
	}
	_, err := consumeLoad{topic: warmTopic, partitions: partitions, readers: 1, partitionBytes: mib, rounds: 1}.run(b.addr)
	return err
}

// compare runs one scenario on all sides, in an order that turns around with each
// repeat, and takes each side's median.
func (o options) compare(sc scenario, s sides) (trio, error) {
	runs := map[*broker][]result{}
	for i := range o.repeat {
		order := s.all()
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, b := range order {
			if b == s.bare && !sc.bare {
				continue
			}
			// What earlier runs wrote goes to the disk now, not during this one.
			syscall.Sync()
			r, err := sc.measure(b)
			if err != nil {
				return trio{}, fmt.Errorf("%s: %s: %w", b.name, sc.name, err)
			}
			fmt.Fprintf(os.Stderr, "%s: %s: %s, %d MiB anonymous\n", b.name, sc.name, sc.show(r), r.anonKiB/1024)
			runs[b] = append(runs[b], r)
		}
	}
	t := trio{ours: median(runs[s.ours], sc.figure)}
	if all := runs[s.theirs]; s.theirs != nil && len(all) > 0 {
		r := median(all, sc.figure)
		t.theirs = &r
	}
	if all := runs[s.bare]; s.bare != nil && len(all) > 0 {
		r := median(all, sc.figure)
		t.bare = &r
	}
	return t, nil
}

// median is the middle one of the results by their figure, with the median of
// their CPU; of an even number the lower of the two.
func median(all []result, figure func(result) float64) result {
	sorted, middle := slices.Clone(all), (len(all)-1)/2
	slices.SortFunc(sorted, func(a, b result) int { return cmp.Compare(a.cpu, b.cpu) })
	cpu := sorted[middle].cpu
	slices.SortFunc(sorted, func(a, b result) int { return cmp.Compare(figure(a), figure(b)) })
	r := sorted[middle]
	r.cpu = cpu
	return r
}

// warmMemory touches memory, and leaves it in the page cache: memory of a virtual
// machine is dear at its first touch. It reads a file that is one hole, so that
// the disk has nothing to do, and the pages are the first that writers get.
func warmMemory(dir string, sizeMiB int64) (remove func() error, err error) {
	name := filepath.Join(dir, "page-cache")
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	remove = func() error { return os.Remove(name) }
	if err := f.Truncate(sizeMiB * mib); err != nil {
		return remove, err
	}
	block := make([]byte, mib)
	for i := range sizeMiB {
		if _, err := f.ReadAt(block, i*mib); err != nil {
			return remove, err
		}
	}
	return remove, nil
}

// freeMemory is how much the system could give away.
func freeMemory() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("no MemAvailable in /proc/meminfo")
}
