package sdk

import (
	"context"
	"os"
	"time"
)

// parentPoll is how often the process looks whether its broker still is its parent.
// On Linux the kernel kills it at once; elsewhere this is what keeps it from
// outliving a broker that was killed.
const parentPoll = 500 * time.Millisecond

// watchParent calls gone when the process that started this one is gone.
func watchParent(ctx context.Context, gone func()) {
	parent := os.Getppid()
	ticks := time.NewTicker(parentPoll)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			if os.Getppid() != parent {
				gone()
				return
			}
		}
	}
}
