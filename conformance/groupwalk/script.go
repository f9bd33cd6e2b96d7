package main

import (
	"fmt"
	"math/rand/v2"
)

// slots is how many members a group may have. The last ones are static.
const (
	slots       = 5
	firstStatic = 3
)

// scriptOps is about how long a script is.
const scriptOps = 60

// strideOps is how many operations a timed group takes between two pauses.
const strideOps = 7

// writer makes one script.
type writer struct {
	*rand.Rand
	timed    bool // some timeouts are short
	members  int  // slots that are used
	consumer bool // members of the consumer protocol commit
	assignor string
	topics   []string // that members of the consumer protocol seldom subscribe to
	ops      []op
}

// classicScript is the script of one classic group. It depends on its arguments alone.
func classicScript(seed uint64, group int, timed bool) []op {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, uint64(group))), timed: timed, members: slots}
	for len(w.ops) < scriptOps {
		w.pick([]chance{
			{30, w.gather}, {8, w.oneJoin}, {10, w.oneSync}, {12, w.beat}, {8, w.leave}, {10, w.commit},
			{8, w.fetch}, {3, w.deleteOffsets}, {2, w.deleteGroup}, {6, w.describe}, {2, w.list}, {1, w.changeTopic},
		})
	}
	return w.paced()
}

// chance is a way to go on and its weight.
type chance struct {
	weight int
	take   func()
}

func (w *writer) pick(all []chance) {
	total := 0
	for _, c := range all {
		total += c.weight
	}
	n := w.IntN(total)
	for _, c := range all {
		if n -= c.weight; n < 0 {
			c.take()
			return
		}
	}
}

// paced puts pauses between the strides of a timed script.
func (w *writer) paced() []op {
	if !w.timed {
		return w.ops
	}
	var out []op
	for i, o := range w.ops {
		if i > 0 && i%strideOps == 0 {
			out = append(out, op{do: pause})
		}
		out = append(out, o)
	}
	return append(out, op{do: pause})
}

// add appends an operation of a version up to newest. args are keys and values.
func (w *writer) add(do string, slot int, oldest, newest int16, args ...string) {
	o := op{do: do, slot: slot, version: oldest + int16(w.IntN(int(newest-oldest)+1)), args: map[string]string{}}
	for i := 0; i < len(args); i += 2 {
		o.args[args[i]] = args[i+1]
	}
	w.ops = append(w.ops, o)
}

// oneOf is one of some texts.
func (w *writer) oneOf(texts ...string) string { return texts[w.IntN(len(texts))] }

// mostly is the first text, or seldom one of the others.
func (w *writer) mostly(usual string, others ...string) string {
	if w.IntN(8) > 0 {
		return usual
	}
	return w.oneOf(others...)
}

// anyone is a slot; low ones come more often, so that groups have several members.
func (w *writer) anyone() int { return min(w.IntN(w.members), w.IntN(w.members+2)) }

// some are up to four slots in any order.
func (w *writer) some() []int { return w.Perm(w.members)[:1+w.IntN(min(4, w.members))] }

// span is a timeout: long ones never end within a walk.
func (w *writer) span() string {
	if w.timed && w.IntN(2) == 0 {
		return "short"
	}
	return "long"
}

// gather has some members join, join again as clients do when the group rebalances,
// and sync, mostly all of them.
func (w *writer) gather() {
	who := w.some()
	protocols := w.mostly("ab", "ba", "bca", "dab", "cd", "a")
	for _, s := range who {
		w.join(s, protocols, "cur")
		if w.IntN(3) > 0 { // a new member is told its id first
			w.join(s, protocols, "cur")
		}
	}
	for _, s := range who[:len(who)-1] {
		w.join(s, protocols, "cur")
	}
	w.Shuffle(len(who), func(i, j int) { who[i], who[j] = who[j], who[i] })
	for _, s := range who {
		if w.IntN(8) > 0 {
			w.add("sync", s, 0, 5, "gen", "0")
		}
	}
}

func (w *writer) join(slot int, protocols, id string) {
	oldest := int16(0)
	if slot >= firstStatic || w.IntN(4) > 0 {
		oldest = 5
	}
	w.add("join", slot, oldest, 9, "id", id, "session", w.span(), "rebalance", w.span(), "protocols", protocols,
		"type", w.mostly("consumer", "consumer", "consumer", "connect"), "meta", fmt.Sprint(w.IntN(12)/10))
}

func (w *writer) oneJoin() {
	w.join(w.anyone(), w.mostly("ab", "a", "b", "c", "ba"), w.mostly("cur", "none", "old", "next"))
}

func (w *writer) oneSync() {
	w.add("sync", w.anyone(), 0, 5, "gen", w.mostly("0", "1", "-1"), "id", w.mostly("cur", "old", "none", "next"),
		"protocol", w.mostly("cur", "a", "d"))
}

func (w *writer) beat() {
	w.add("beat", w.anyone(), 0, 4, "gen", w.mostly("0", "1", "-1"), "id", w.mostly("cur", "old", "none", "next"))
}

func (w *writer) leave() {
	slot := w.anyone()
	if w.IntN(2) == 0 {
		w.add("leave", slot, 0, 2, "id", w.mostly("cur", "old", "none"))
		return
	}
	with := ""
	if w.IntN(3) == 0 {
		with = fmt.Sprint(w.anyone())
	}
	w.add("leave", slot, 3, 5, "id", w.mostly("cur", "old", "none"), "with", with)
}

func (w *writer) commit() {
	id, gen := w.mostly("cur", "old", "none", "next"), w.mostly("0", "1", "-1")
	if w.IntN(4) == 0 {
		id, gen = "none", "none" // a simple consumer
	}
	by := "classic"
	if w.consumer && id == "cur" && w.IntN(5) > 0 {
		by = "consumer"
	}
	w.add("commit", w.anyone(), 2, 9, "by", by, "id", id, "gen", gen, "topic", w.mostly("t0", "t1", "x", "missing"),
		"partition", w.mostly("0", "1", "7"), "offset", fmt.Sprint(w.IntN(100)), "meta", w.mostly("m", "null", "huge"))
}

func (w *writer) fetch() {
	w.add("fetch", w.anyone(), 2, 9, "topic", w.oneOf("all", "t0", "t1", "x", "missing"), "partition", w.oneOf("0", "1", "7"),
		"stable", w.oneOf("false", "true"))
}

func (w *writer) deleteOffsets() {
	w.add("forget", 0, 0, 0, "topic", w.oneOf("t0", "t1", "x", "missing"), "partition", w.oneOf("0", "1", "7"))
}

func (w *writer) deleteGroup() { w.add("drop", 0, 0, 2) }

func (w *writer) describe() { w.add("describe", 0, 0, 6) }

func (w *writer) list() {
	w.add("list", 0, 4, 5, "states", w.oneOf("any", "Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Dead"))
}

// changeTopic makes or deletes the group's own topic.
func (w *writer) changeTopic() { w.add(w.oneOf("create", "destroy"), 0, 5, 6) }
