package isr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/scenario"
)

// TestScenarios plays the files of testdata: lines that begin with "> " are commands,
// what follows is what the leader then thinks. Each file is named for the rule that it
// shows.
func TestScenarios(t *testing.T) { scenario.Play(t, play) }

// stage is a leader, broker 1, with a log that is only a number.
type stage struct {
	s     *State
	rules Rules
	now   time.Time
	end   kafka.Offset
	hw    kafka.Offset
	epoch map[kafka.BrokerID]kafka.BrokerEpoch // registered and fit for an ISR
	out   strings.Builder
}

func newStage() *stage {
	g := &stage{now: time.UnixMilli(1_000_000), epoch: map[kafka.BrokerID]kafka.BrokerEpoch{2: 20, 3: 30, 4: 40}}
	g.rules = Rules{MinISR: 1, Lag: 30 * time.Second, Eligible: func(id kafka.BrokerID, epoch kafka.BrokerEpoch) bool {
		registered, ok := g.epoch[id]
		return ok && registered == epoch
	}}
	return g
}

// play runs a scenario and gives it back with what happened.
func play(_ *testing.T, text string) string {
	g := newStage()
	return scenario.Steps(text, &g.out, func(words []string) {
		g.run(words)
		g.show()
	})
}

// words are the options of a command: name=value.
type words map[string]string

func (w words) number(name string, otherwise int64) int64 {
	v, ok := w[name]
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (w words) ids(name string) (list []kafka.BrokerID) {
	for v := range strings.SplitSeq(w[name], ",") {
		n, err := strconv.Atoi(v)
		if err != nil {
			panic(err)
		}
		list = append(list, kafka.BrokerID(n))
	}
	return list
}

// run runs one command: a verb and its options.
func (g *stage) run(fields []string) {
	w := words{}
	for _, f := range fields[1:] {
		k, v, _ := strings.Cut(f, "=")
		w[k] = v
	}
	switch fields[0] {
	case "lead": // a leader epoch begins
		g.end = kafka.Offset(w.number("end", int64(g.end)))
		g.s = Lead(1, w.ids("replicas"), w.ids("isr"), g.end, g.now)
		g.hw = kafka.Offset(w.number("hw", int64(g.hw)))
	case "assign": // the cluster agreed on something
		g.s.Assign(w.ids("replicas"), w.ids("isr"))
	case "refused":
		g.s.Refused()
	case "min":
		g.rules.MinISR = int(w.number("isr", 1))
	case "append":
		g.end += kafka.Offset(w.number("n", 1))
	case "wait":
		g.now = g.now.Add(time.Duration(w.number("ms", 0)) * time.Millisecond)
	case "broker": // registers, or without an epoch is fenced
		id := kafka.BrokerID(w.number("id", 0))
		delete(g.epoch, id)
		if e := w.number("epoch", 0); e != 0 {
			g.epoch[id] = kafka.BrokerEpoch(e)
		}
	case "fetch":
		g.fetch(w)
	case "check": // the timer of the broker
		g.ask(g.s.Shrink(g.end, g.now, &g.rules))
	default:
		panic("no command " + fields[0])
	}
	g.hw = g.s.HighWatermark(g.hw, g.end, g.now, &g.rules)
}

// fetch is what the partition does with a follower's fetch.
func (g *stage) fetch(w words) {
	id := kafka.BrokerID(w.number("id", 0))
	p := Position{
		ID: id, Epoch: kafka.BrokerEpoch(w.number("epoch", int64(g.epoch[id]))),
		Start: kafka.Offset(w.number("start", 0)), End: kafka.Offset(w.number("from", 0)),
	}
	switch g.s.Progress(p, g.end, g.now) {
	case Stranger:
		g.out.WriteString("  no replica\n")
		return
	case Outdated:
		g.out.WriteString("  of an earlier start\n")
		return
	}
	g.hw = g.s.HighWatermark(g.hw, g.end, g.now, &g.rules)
	g.ask(g.s.Join(id, g.hw, &g.rules))
}

// ask notes what the leader wants.
func (g *stage) ask(isr []meta.ISRReplica) {
	if isr == nil {
		return
	}
	g.out.WriteString("  asks for")
	for _, m := range isr {
		fmt.Fprintf(&g.out, " %d(%d)", m.ID, m.Epoch)
	}
	g.out.WriteString("\n")
	g.s.Asked(isr)
}

// show writes what the leader thinks.
func (g *stage) show() {
	isr := slices.Clone(g.s.committed)
	slices.Sort(isr)
	fmt.Fprintf(&g.out, "  = end=%d hw=%d isr=%v", g.end, g.hw, isr)
	if g.s.Pending() {
		fmt.Fprintf(&g.out, " pending=%v", g.s.pending)
	}
	if g.s.UnderMin(g.rules.MinISR) {
		g.out.WriteString(" under-min")
	}
	if low := g.s.LowWatermark(g.end, &g.rules); low != 0 {
		fmt.Fprintf(&g.out, " low=%d", low)
	}
	g.out.WriteString("\n")
}
