package isr

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/seeded"
)

// world is a leader, broker 1, with followers whose logs are numbers, and a cluster
// that decides on its changes whenever it likes.
type world struct {
	s       *State
	rules   Rules
	now     time.Time
	end, hw kafka.Offset
	logs    map[kafka.BrokerID]kafka.Offset // what each follower really has
	fit     map[kafka.BrokerID]bool
	asked   []meta.ISRReplica // what the cluster was asked for
}

var replicas = []kafka.BrokerID{1, 2, 3, 4}

func newWorld() *world {
	w := &world{now: time.UnixMilli(0), logs: map[kafka.BrokerID]kafka.Offset{}, fit: map[kafka.BrokerID]bool{2: true, 3: true, 4: true}}
	w.rules = Rules{MinISR: 2, Lag: 10 * time.Second, Eligible: func(id kafka.BrokerID, _ kafka.BrokerEpoch) bool { return w.fit[id] }}
	w.s = Lead(1, replicas, []kafka.BrokerID{1, 2, 3, 4}, 0, w.now)
	return w
}

// step does something that can happen.
func (w *world) step(t *rapid.T) {
	id := rapid.SampledFrom(replicas[1:]).Draw(t, "follower")
	switch rapid.IntRange(0, 7).Draw(t, "step") {
	case 0:
		w.end += kafka.Offset(rapid.IntRange(1, 5).Draw(t, "records"))
	case 1, 2: // a follower fetches, and has more afterwards
		w.fetch(t, id, w.logs[id])
		w.logs[id] = min(w.end, w.logs[id]+kafka.Offset(rapid.IntRange(0, 8).Draw(t, "fetched")))
	case 3: // time goes on, and the broker looks at who lags
		w.now = w.now.Add(time.Duration(rapid.IntRange(1, 8).Draw(t, "seconds")) * time.Second)
		w.ask(t, w.s.Shrink(w.end, w.now, &w.rules))
	case 4: // the cluster does what it was asked for, or says no
		w.decide(rapid.Bool().Draw(t, "done"))
	case 5:
		w.fit[id] = rapid.Bool().Draw(t, "fit")
	case 6: // the leader gets another epoch; who led in between may have cut what is not committed
		isr := slices.Clone(w.s.committed)
		if w.asked != nil && rapid.Bool().Draw(t, "done") {
			isr = ids(w.asked)
		}
		w.asked = nil
		if w.logs[id] > w.hw {
			w.logs[id] = kafka.Offset(rapid.Int64Range(int64(w.hw), int64(w.logs[id])).Draw(t, "cut to"))
		}
		w.s = Lead(1, replicas, isr, w.end, w.now)
	case 7:
		w.rules.MinISR = rapid.IntRange(1, 3).Draw(t, "min")
	}
	w.advance(t)
}

func (w *world) fetch(t *rapid.T, id kafka.BrokerID, from kafka.Offset) {
	if got := w.s.Progress(Position{ID: id, Epoch: 1, End: from}, w.end, w.now); got != Heard && got != Trimmed {
		t.Fatalf("a fetch of replica %d: %d", id, got)
	}
	w.advance(t)
	w.ask(t, w.s.Join(id, w.hw, &w.rules))
}

func (w *world) advance(t *rapid.T) {
	next := w.s.HighWatermark(w.hw, w.end, w.now, &w.rules)
	if next < w.hw || next > w.end {
		t.Fatalf("high watermark goes from %d to %d, the log ends at %d", w.hw, next, w.end)
	}
	if next > w.hw && len(w.s.committed) < min(w.rules.MinISR, len(replicas)) {
		t.Fatalf("high watermark goes to %d with %v in sync of %d", next, w.s.committed, w.rules.MinISR)
	}
	w.hw = next
}

func (w *world) ask(t *rapid.T, isr []meta.ISRReplica) {
	if isr == nil {
		return
	}
	if w.asked != nil {
		t.Fatalf("asks for %v while %v is not settled", isr, w.asked)
	}
	for _, m := range isr {
		joins := !slices.Contains(w.s.committed, m.ID)
		if joins && (w.logs[m.ID] < w.hw || !w.fit[m.ID]) {
			t.Fatalf("asks for %d, which has %d of %d, fit: %v", m.ID, w.logs[m.ID], w.hw, w.fit[m.ID])
		}
	}
	if isr[0].ID != 1 {
		t.Fatalf("asks for %v without itself", isr)
	}
	w.asked = isr
	w.s.Asked(isr)
}

func (w *world) decide(done bool) {
	if w.asked == nil {
		return
	}
	if done {
		w.s.Assign(replicas, ids(w.asked))
	} else {
		w.s.Refused()
	}
	w.asked = nil
}

func ids(isr []meta.ISRReplica) (list []kafka.BrokerID) {
	for _, m := range isr {
		list = append(list, m.ID)
	}
	return list
}

// Whomever the cluster makes the leader, out of the ISR that it knows or out of the one
// that it was asked for, has what is committed.
func TestEveryPossibleLeaderHasWhatIsCommitted(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(1, 200).Draw(rt, "steps") {
			w.step(rt)
			for _, id := range slices.Concat(w.s.committed, ids(w.asked)) {
				if id != 1 && w.logs[id] < w.hw {
					rt.Fatalf("%d may be elected, has %d, and %d is committed (isr %v, asked for %v)", id, w.logs[id], w.hw, w.s.committed, w.asked)
				}
			}
		}
	})
}

// Once faults end, everybody who is there joins, and everything is committed.
func TestHealsWhenFaultsEnd(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			w.step(rt)
		}
		for _, id := range replicas[1:] {
			w.fit[id] = true
		}
		for range 4 { // one join at a time, and one round to hear what it has
			for _, id := range replicas[1:] {
				w.logs[id] = w.end
				w.fetch(rt, id, w.end)
				w.decide(true)
				w.advance(rt)
			}
		}
		if len(w.s.committed) != len(replicas) || w.hw != w.end {
			rt.Fatalf("in sync: %v, high watermark %d of %d", w.s.committed, w.hw, w.end)
		}
	})
}

func TestHotPathsAllocateNothing(t *testing.T) {
	w := newWorld()
	n := testing.AllocsPerRun(100, func() {
		w.end++
		w.s.Progress(Position{ID: 2, Epoch: 1, End: w.end}, w.end, w.now)
		w.hw = w.s.HighWatermark(w.hw, w.end, w.now, &w.rules)
		w.s.Join(2, w.hw, &w.rules)
		w.s.Shrink(w.end, w.now, &w.rules)
	})
	if n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
