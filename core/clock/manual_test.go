package clock

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var epoch = time.UnixMilli(1_700_000_000_000)

func TestManualRunsCallsInOrderAtTheirTimes(t *testing.T) {
	m := NewManual(epoch)
	var ran []time.Duration
	note := func() { ran = append(ran, m.Now().Sub(epoch)) }
	m.AfterFunc(3*time.Second, note)
	m.AfterFunc(time.Second, func() {
		note()
		m.AfterFunc(time.Second, note) // comes due within the same Advance
	})
	m.AfterFunc(time.Minute, note)
	m.Advance(10 * time.Second)
	if want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}; !slices.Equal(ran, want) {
		t.Errorf("calls ran at %v, want %v", ran, want)
	}
	if got := m.Now().Sub(epoch); got != 10*time.Second {
		t.Errorf("the clock stands at %v, want 10s", got)
	}
}

func TestManualKeepsTheOrderOfOneTime(t *testing.T) {
	m := NewManual(epoch)
	var ran, want []int
	for i := range 50 {
		m.AfterFunc(time.Second, func() { ran = append(ran, i) })
		want = append(want, i)
	}
	m.Advance(time.Second)
	if !slices.Equal(ran, want) {
		t.Errorf("calls of one time ran as %v", ran)
	}
}

func TestManualCallInThePastDoesNotTurnTheClockBack(t *testing.T) {
	m := NewManual(epoch)
	m.Advance(time.Minute)
	before := m.Now()
	var at time.Time
	m.AfterFunc(-time.Hour, func() { at = m.Now() })
	m.Advance(0)
	if !at.Equal(before) {
		t.Errorf("the call saw %v, want %v", at, before)
	}
}

func TestManualTimerStopAndReset(t *testing.T) {
	m := NewManual(epoch)
	ran := 0
	timer := m.AfterFunc(time.Second, func() { ran++ })
	if !timer.Stop() || timer.Stop() {
		t.Error("Stop must report true once, then false")
	}
	if timer.Reset(2 * time.Second) {
		t.Error("Reset of a stopped timer reported that it was waiting")
	}
	m.Advance(time.Second)
	if ran != 0 {
		t.Error("the call came at its first time although it was reset")
	}
	if !timer.Reset(2 * time.Second) {
		t.Error("Reset of a waiting timer reported that it was not waiting")
	}
	m.Advance(time.Second)
	if ran != 0 {
		t.Error("the call came at its second time although it was reset again")
	}
	m.Advance(time.Second)
	if ran != 1 {
		t.Errorf("the call ran %d times, want once", ran)
	}
	if timer.Stop() {
		t.Error("Stop reported true after the call ran")
	}
}

func TestSystemIsFakeUnderSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock = System{}
		begin := c.Now()
		done := make(chan time.Duration, 1)
		c.AfterFunc(time.Hour, func() { done <- c.Now().Sub(begin) })
		if got := <-done; got != time.Hour {
			t.Errorf("the call came after %v, want an hour of the bubble's time", got)
		}
	})
}

func TestMillis(t *testing.T) {
	if got := Millis(epoch.Add(999 * time.Microsecond)); got != 1_700_000_000_000 {
		t.Errorf("%d, want the millisecond that has begun", got)
	}
}
