package clusterload_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// watchEvery is how often it is looked what nodes take.
const watchEvery = 250 * time.Millisecond

// report is what a run of faults has shown.
type report struct {
	w       *world
	clients []loader
	began   time.Time
	faults  int
	bursts  []*burst
	records []int64 // of each client
	// Nodes that had to be started again because a log directory was offline.
	reopened int

	quit    chan struct{}
	running sync.WaitGroup
	nodes   []taken // written by watch until stop
}

// taken is what one node took, of all its processes.
type taken struct {
	pid    int
	cpu    time.Duration // of earlier processes
	now    time.Duration // of this one
	memory int64         // most at a time, without pages of files
}

func newReport(w *world, clients []loader) *report {
	p := &report{w: w, clients: clients, began: time.Now(), quit: make(chan struct{}), nodes: make([]taken, len(w.cluster.Nodes()))}
	p.running.Go(p.watch)
	return p
}

// watch looks at the processes.
func (p *report) watch() {
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for {
		for i, n := range p.w.cluster.Nodes() {
			var u usage
			pid := n.PID()
			if pid == 0 || u.fromProcess(pid) != nil {
				continue // it has just been killed
			}
			t := &p.nodes[i]
			if pid != t.pid {
				t.cpu, t.now, t.pid = t.cpu+t.now, 0, pid
			}
			t.now, t.memory = u.cpu, max(t.memory, u.anonymous)
		}
		select {
		case <-look.C:
		case <-p.quit:
			return
		}
	}
}

// stop ends the look at processes.
func (p *report) stop() {
	close(p.quit)
	p.running.Wait()
}

func (p *report) add(b *burst) {
	p.faults += len(b.faults)
	p.bursts = append(p.bursts, b)
}

// due is how many faults the next burst should have for all of them to come in time.
func (p *report) due(r *rand.Rand) int {
	left := max(*faultCount-p.faults, 1)
	if *runFor == 0 || len(p.bursts) == 0 {
		return min(1+r.IntN(3), left)
	}
	passed := time.Since(p.began)
	each := passed / time.Duration(len(p.bursts))
	coming := max(float64(*runFor-passed)/float64(each), 1)
	mean := min(float64(left)/coming, burstMax)
	return 1 + r.IntN(max(int(2*mean+0.5)-1, 1)) // from one up to twice the mean
}

// slowest is how long it took at most until all were in sync.
func (p *report) slowest() (most time.Duration) {
	for _, b := range p.bursts {
		most = max(most, b.synced)
	}
	return most
}

// String is a table of all.
func (p *report) String() string {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(&text, "%d faults in %d bursts within %s\n", p.faults, len(p.bursts), time.Since(p.began).Round(time.Second))
	fmt.Fprint(t, "\tfaults")
	for _, c := range p.clients {
		fmt.Fprintf(t, "\tno ack to %s, most", c.name())
	}
	fmt.Fprintln(t, "\tin sync after p50\tp99\tmost")
	names := map[string][]*burst{}
	for _, b := range p.bursts {
		kinds := map[string]bool{"all": true, fmt.Sprintf("all of %d node(s)", len(b.victims)): true}
		for _, i := range b.faults {
			kinds[i.name] = true
		}
		for kind := range kinds {
			names[kind] = append(names[kind], b)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		p.row(t, name, names[name])
	}
	t.Flush()
	for i, c := range p.clients {
		fmt.Fprintf(&text, "%s: %d records of %d bytes, 0 lost, 0 twice, 0 out of order unless an error says so\n", c.name(), p.records[i], recordBytes)
	}
	fmt.Fprintf(&text, "started again because a full disk had taken a log directory offline: %d nodes\n", p.reopened)
	passed := time.Since(p.began)
	for i, n := range p.nodes {
		cpu := n.cpu + n.now
		fmt.Fprintf(&text, "node %d: at most %d MiB of memory, %s CPU (%.0f %% of a core)\n", i+1, n.memory>>20, cpu.Round(time.Second), 100*cpu.Seconds()/passed.Seconds())
	}
	return text.String()
}

// row is the line of some bursts; those that overlapped others have the figures of all that
// happened at the same time.
func (p *report) row(t *tabwriter.Writer, name string, bursts []*burst) {
	faults, synced := 0, []time.Duration{}
	gaps := make([]time.Duration, len(p.clients))
	for _, b := range bursts {
		for _, i := range b.faults {
			if i.name == name || strings.HasPrefix(name, "all") {
				faults++
			}
		}
		synced = append(synced, b.synced)
		for i, g := range b.gaps {
			gaps[i] = max(gaps[i], g)
		}
	}
	slices.Sort(synced)
	fmt.Fprintf(t, "%s\t%d", name, faults)
	for _, g := range gaps {
		fmt.Fprintf(t, "\t%s", g.Round(time.Millisecond))
	}
	at := func(share float64) time.Duration {
		return synced[int(share*float64(len(synced)-1)+0.5)].Round(time.Millisecond)
	}
	fmt.Fprintf(t, "\t%s\t%s\t%s\n", at(0.5), at(0.99), at(1))
}
