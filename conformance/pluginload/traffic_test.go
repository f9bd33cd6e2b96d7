package pluginload_test

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// traffic is produce and consume of a topic that needs no plugin.
type traffic struct {
	*load
	clients []*kgo.Client

	mu   sync.Mutex
	took []time.Duration // guarded by mu
}

// producers is how many records of the traffic are on their way at once.
const producers = 2

// traffic begins.
func (w *world) traffic() *traffic {
	f := &traffic{load: w.idle()}
	for range producers {
		c := w.client(open)
		f.clients = append(f.clients, c)
		f.run("records", func(n int) {
			begin := time.Now()
			f.is("records", "plain", c.ProduceSync(f.ctx, &kgo.Record{Topic: "plain", Partition: int32(n % 4), Value: make([]byte, 1024)}).FirstErr(), nil)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.took = append(f.took, time.Since(begin))
		})
	}
	reader := w.client(open, kgo.ConsumeTopics("plain"))
	f.clients = append(f.clients, reader)
	f.run("plain polls", func(int) {
		for _, e := range reader.PollFetches(f.ctx).Errors() {
			f.is("plain polls", e.Topic, e.Err, nil)
		}
	})
	return f
}

// end stops the traffic.
func (f *traffic) end(t *testing.T) {
	f.load.end(t)
	for _, c := range f.clients {
		c.Close()
	}
}

// sample is what the traffic got through.
type sample struct {
	took    []time.Duration
	elapsed time.Duration
}

// add puts two samples together.
func (s *sample) add(o sample) {
	s.took, s.elapsed = append(s.took, o.took...), s.elapsed+o.elapsed
}

// measure takes a sample of some time.
func (f *traffic) measure(lasts time.Duration) sample {
	f.mu.Lock()
	f.took = nil
	f.mu.Unlock()
	begin := time.Now()
	<-time.After(lasts)
	f.mu.Lock()
	defer f.mu.Unlock()
	return sample{f.took, time.Since(begin)}
}

// rate is records a second.
func (s sample) rate() float64 { return float64(len(s.took)) / s.elapsed.Seconds() }

// p99 is the time that one of a hundred takes longer than.
func (s sample) p99() time.Duration {
	if len(s.took) == 0 {
		return s.elapsed
	}
	sorted := slices.Sorted(slices.Values(s.took))
	return sorted[len(sorted)*99/100]
}

func (s sample) String() string {
	return fmt.Sprintf("%.0f records/s, p99 %v", s.rate(), s.p99().Round(10*time.Microsecond))
}

// tally is what the traffic got through beside a plugin that is well, before and after
// each fault, and beside one that is not.
type tally struct {
	rounds       int
	well, broken sample
}

// add adds a round.
func (y *tally) add(well, broken sample) {
	y.rounds++
	y.well.add(well)
	y.broken.add(broken)
}

// enough says that the rounds tell what there is to know.
func (y *tally) enough() bool {
	if !*strict {
		share, _ := y.compare()
		return y.rounds > 0 && (share >= shareLeft || y.rounds >= roundsMax)
	}
	return y.rounds >= roundsMin && (y.within() || y.rounds >= roundsMax)
}

// Bounds of the traffic beside a plugin that fails.
const (
	shareMin  = 0.95 // of the throughput
	slowerMax = 2    // times the p99
	shareLeft = 0.1  // of the throughput, on any machine: it lives
)

// within says whether the bounds are held.
func (y *tally) within() bool {
	share, slower := y.compare()
	return share >= shareMin && slower <= slowerMax
}

// compare is which share of its throughput the traffic kept, and how many times its p99
// it had. Traffic that stood still all the time has kept nothing.
func (y *tally) compare() (share, slower float64) {
	if y.well.rate() == 0 {
		return 0, math.Inf(1)
	}
	return y.broken.rate() / y.well.rate(), float64(y.broken.p99()) / float64(y.well.p99())
}

func (y *tally) String() string {
	share, slower := y.compare()
	return fmt.Sprintf("%.0f%% of its throughput, p99 %.1f times (%d rounds; %v, then %v)", 100*share, slower, y.rounds, y.well, y.broken)
}

// line is a row of the table, without its beginning.
func (y *tally) line(passed bool) string {
	if y.rounds == 0 {
		return "| 0 | not measured, failed | | |"
	}
	share, slower := y.compare()
	text := fmt.Sprintf("| %d | %.1f %% | %.2f× | %v | %v", y.rounds, 100*share, slower, y.well, y.broken)
	if !passed {
		text += " | **failed**"
	}
	return text
}
