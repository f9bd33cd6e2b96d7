package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// op is one operation of a script. Everything in it is symbolic, so that it means the
// same on every broker.
type op struct {
	do      string // join, sync, ...: a key of requests
	slot    int    // Which member acts.
	version int16
	args    map[string]string
}

// String is the form in traces: "join s1 v5 id=cur session=long".
func (o op) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s s%d v%d", o.do, o.slot, o.version)
	for _, k := range slices.Sorted(maps.Keys(o.args)) {
		fmt.Fprintf(&b, " %s=%s", k, o.args[k])
	}
	return b.String()
}

// parseOp reads what String wrote.
func parseOp(text string) (op, error) {
	words := strings.Fields(text)
	if len(words) < 3 || words[1][0] != 's' || words[2][0] != 'v' {
		return op{}, fmt.Errorf("operation %q: want DO, sSLOT, vVERSION and KEY=VALUE", text)
	}
	slot, err := strconv.Atoi(words[1][1:])
	if err != nil || slot < 0 || slot >= slots {
		return op{}, fmt.Errorf("operation %q: slot %s, want one of %d", text, words[1], slots)
	}
	version, err := strconv.ParseInt(words[2][1:], 10, 16)
	if err != nil {
		return op{}, fmt.Errorf("operation %q: version %s: %w", text, words[2], err)
	}
	o := op{do: words[0], slot: slot, version: int16(version), args: map[string]string{}}
	for _, w := range words[3:] {
		k, v, ok := strings.Cut(w, "=")
		if !ok {
			return op{}, fmt.Errorf("operation %q: %s is no KEY=VALUE", text, w)
		}
		o.args[k] = v
	}
	if _, ok := requests[o.do]; !ok && o.do != pause {
		return op{}, fmt.Errorf("operation %q: %s is not known", text, o.do)
	}
	return o, nil
}

// pause is the operation that lets time pass for all groups of a timed walk.
const pause = "pause"

// number reads an argument; 0 when it is absent.
func (o op) number(key string) int {
	n, err := strconv.Atoi(o.args[key])
	if err != nil {
		return 0
	}
	return n
}
