package cluster

import (
	"testing"
	"time"
)

func TestContactAge(t *testing.T) {
	for age, want := range map[time.Duration]float64{-1: -1, 0: 0, 1500 * time.Millisecond: 1.5} {
		if got := contactAge(age); got != want {
			t.Errorf("%v is %v, want %v", age, got, want)
		}
	}
}
