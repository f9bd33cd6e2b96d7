package topics

import (
	"strconv"
	"sync"
	"testing"
)

func TestOfIsOnePerTopic(t *testing.T) {
	var all Topics[int]
	var wait sync.WaitGroup
	got := make([]*int, 8)
	for i := range got {
		wait.Go(func() { got[i] = all.Of("t") })
	}
	wait.Wait()
	for _, p := range got {
		if p != got[0] {
			t.Fatal("two values for one topic")
		}
	}
	if all.Of("u") == got[0] {
		t.Fatal("one value for two topics")
	}
	if n := testing.AllocsPerRun(100, func() { all.Of("t") }); n != 0 {
		t.Errorf("%v allocations for a known topic, want 0", n)
	}
}

func TestOfIsBounded(t *testing.T) {
	var all Topics[int]
	for i := range 3 * Max {
		*all.Of(strconv.Itoa(i)) = i
		if len(all.of) > Max {
			t.Fatalf("%d topics remembered, want at most %d", len(all.of), Max)
		}
	}
	if *all.Of("5") != 0 {
		t.Error("a forgotten topic does not begin anew")
	}
}
