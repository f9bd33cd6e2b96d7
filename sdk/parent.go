package sdk

import (
	"context"
	"time"
)

// parentPoll is how often the process looks whether its broker still is its parent.
// On Linux the kernel kills it at once; elsewhere this is what keeps it from
// outliving a broker that was killed.
const parentPoll = 500 * time.Millisecond

// watchParent calls gone when the process that started this one is gone.
// parentOf is os.Getppid.
func watchParent(ctx context.Context, parentOf func() int, gone func()) {
	parent := parentOf()
	ticks := time.NewTicker(parentPoll)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			if parentOf() != parent {
				gone()
				return
			}
		}
	}
}
