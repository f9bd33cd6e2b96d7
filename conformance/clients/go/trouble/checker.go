package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// faultsMax bounds how many faults are kept: the first ones tell.
const faultsMax = 20

// place is where a record is.
type place struct {
	partition int32
	offset    int64
}

// checker collects what the producer, the members and the broker say. Safe for concurrent use.
type checker struct {
	mu         sync.Mutex
	faults     []error
	written    map[place]string // key of each acknowledged record
	complete   bool             // written has all
	seen       map[place]int    // deliveries
	deliveries int
	committed  map[int32]int64            // what the broker said last
	observed   int                        // how often it said so
	holds      map[string][]int32         // what each member owns
	next       map[string]map[int32]int64 // the offset that a member must see next
	owners     map[int32]map[int32]string // by generation and partition
	notes      map[string]int             // what members said about errors, which are no faults
}

func newChecker() *checker {
	return &checker{written: map[place]string{}, seen: map[place]int{}, committed: map[int32]int64{}, holds: map[string][]int32{},
		next: map[string]map[int32]int64{}, owners: map[int32]map[int32]string{}, notes: map[string]int{}}
}

// fault keeps what is wrong. c.mu is held.
func (c *checker) fault(format string, args ...any) {
	if len(c.faults) < faultsMax {
		c.faults = append(c.faults, fmt.Errorf(format, args...))
	}
}

func (c *checker) acked(partition int32, offset int64, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written[place{partition, offset}] = key
}

func (c *checker) allAcked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.complete = true
}

// owned takes what a member owns from now on, in a generation if it knows one.
func (c *checker) owned(name string, generation int32, partitions []int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds[name] = partitions
	c.next[name] = map[int32]int64{}
	if generation <= 0 {
		return
	}
	if c.owners[generation] == nil {
		c.owners[generation] = map[int32]string{}
	}
	for _, p := range partitions {
		if other, ok := c.owners[generation][p]; ok && other != name {
			c.fault("generation %d: partition %d belongs to %s and %s", generation, p, other, name)
		}
		c.owners[generation][p] = name
	}
}

func (c *checker) delivered(name string, partition int32, offset int64, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := place{partition, offset}
	// The producer may hear of a record later than its reader.
	if want, ok := c.written[at]; ok && want != key {
		c.fault("%s: %v has key %q, want %q", name, at, key, want)
	}
	if want, ok := c.next[name][partition]; ok && want != offset {
		c.fault("%s: partition %d goes on at %d, want %d", name, partition, offset, want)
	}
	if c.next[name] == nil {
		c.fault("%s: a record of partition %d before it owns anything", name, partition)
		return
	}
	c.next[name][partition] = offset + 1
	c.seen[at]++
	c.deliveries++
}

// died takes away what a killed member owned.
func (c *checker) died(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.holds, name)
}

func (c *checker) noted(name, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes[name+": "+what]++
}

// commits takes all committed offsets as the broker says them.
func (c *checker) commits(offsets map[int32]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observed++
	for p, last := range c.committed {
		if now, ok := offsets[p]; !ok || now < last {
			c.fault("partition %d: the committed offset went from %d to %d (%t)", p, last, now, ok)
		}
	}
	maps.Copy(c.committed, offsets)
}

// sharedAfter says what is missing until so many records are delivered and every live member has a share of all
// partitions.
func (c *checker) sharedAfter(records int, live map[string]bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) < records {
		return fmt.Errorf("%d records are read, want %d", len(c.seen), records)
	}
	return c.shared(live)
}

// shared says what is missing until the live members share all partitions. c.mu is held.
func (c *checker) shared(live map[string]bool) error {
	var all []int32
	for name := range live {
		if len(c.holds[name]) == 0 {
			return fmt.Errorf("%s has nothing", name)
		}
		all = append(all, c.holds[name]...)
	}
	slices.Sort(all)
	if len(all) != partitions || len(slices.Compact(all)) != partitions {
		return fmt.Errorf("partitions are not each owned once: %v", c.holds)
	}
	return nil
}

// settled says what is missing until everything is read, committed and shared.
func (c *checker) settled(live map[string]bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.complete {
		return errors.New("records are being written")
	}
	ends, unread := map[int32]int64{}, 0
	for at := range c.written {
		ends[at.partition] = max(ends[at.partition], at.offset+1)
		if c.seen[at] == 0 {
			unread++
		}
	}
	if unread > 0 {
		return fmt.Errorf("%d of %d records are not delivered", unread, len(c.written))
	}
	for p, end := range ends {
		if c.committed[p] != end {
			return fmt.Errorf("partition %d: committed is %d, want %d", p, c.committed[p], end)
		}
	}
	return c.shared(live)
}

// held returns a copy of what the members own, by member.
func (c *checker) held() map[string][]int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.holds)
}

// verdict is everything that was wrong.
func (c *checker) verdict() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.observed == 0 {
		c.fault("the broker never said what is committed")
	}
	if len(c.faults) == 0 {
		return nil
	}
	return errors.Join(append(slices.Clone(c.faults), fmt.Errorf("members said: %v", c.notes))...)
}

func (c *checker) summary() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var said strings.Builder
	for _, what := range slices.Sorted(maps.Keys(c.notes)) {
		fmt.Fprintf(&said, "\n  %d times %s", c.notes[what], what)
	}
	return fmt.Sprintf("%d records, %d deliveries, %d generations seen, committed offsets asked for %d times%s", len(c.written), c.deliveries,
		len(c.owners), c.observed, said.String())
}
