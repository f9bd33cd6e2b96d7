package broker

import (
	"testing"
	"time"
)

// TestLateLookSaysNothing: a process that stood still has not read what others sent
// meanwhile. The next look, which comes in time, counts.
func TestLateLookSaysNothing(t *testing.T) {
	const patience = 4 * time.Second
	start := time.Unix(0, 0)
	c := contact{last: start, due: start.Add(patience)}
	for _, look := range []struct {
		at     time.Duration
		cutOff bool
		again  time.Duration
	}{
		{patience, true, giveUpEvery},
		{patience + giveUpEvery, true, giveUpEvery},
		{time.Minute, false, giveUpEvery},
		{time.Minute + giveUpEvery, true, giveUpEvery},
	} {
		if cutOff, again := c.look(start.Add(look.at), patience); cutOff != look.cutOff || again != look.again {
			t.Errorf("after %v: cut off %v, next look in %v; want %v and %v", look.at, cutOff, again, look.cutOff, look.again)
		}
	}
	c.last = start.Add(2 * time.Minute)
	if cutOff, again := c.look(c.last.Add(time.Second), patience); cutOff || again != patience-time.Second {
		t.Errorf("a second after an answer: cut off %v, next look in %v", cutOff, again)
	}
}
