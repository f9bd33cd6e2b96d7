package hosttest

import "time"

// Stopwatch begins to count the time that this process gets; what it returns is how much
// that was. Ticks that nobody could take are lost, so that a machine that is busy with
// others makes it no longer. stop is called once.
func Stopwatch() (stop func() time.Duration) {
	const tick = 10 * time.Millisecond
	ended, counted := make(chan struct{}), make(chan time.Duration)
	go func() {
		ticks := time.NewTicker(tick)
		defer ticks.Stop()
		for got := time.Duration(0); ; got += tick {
			select {
			case <-ticks.C:
			case <-ended:
				counted <- got
				return
			}
		}
	}()
	return func() time.Duration {
		close(ended)
		return <-counted
	}
}
