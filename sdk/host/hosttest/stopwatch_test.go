package hosttest

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestStopwatch: whole ticks count.
func TestStopwatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := Stopwatch()
		synctest.Wait()
		time.Sleep(55 * time.Millisecond) // of the bubble
		if got := stop(); got != 50*time.Millisecond {
			t.Errorf("it counted %v, want 50ms", got)
		}
	})
}
