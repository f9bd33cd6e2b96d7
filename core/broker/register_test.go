package broker

import (
	"testing"

	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
)

// Directories that were closed by different registrations were not all there when the
// broker ran last: one of them may lack records.
func TestLastShutdown(t *testing.T) {
	dir := func(clean bool, epoch kafka.BrokerEpoch) *logdir.Dir {
		return &logdir.Dir{Clean: clean, CleanEpoch: epoch}
	}
	for _, c := range []struct {
		says  string
		dirs  []*logdir.Dir
		clean bool
		epoch kafka.BrokerEpoch
	}{
		{"clean", []*logdir.Dir{dir(true, 7), dir(true, 7)}, true, 7},
		{"one was not closed", []*logdir.Dir{dir(true, 7), dir(false, logdir.NoBrokerEpoch)}, false, 0},
		{"one was away", []*logdir.Dir{dir(true, 7), dir(true, 5)}, false, 0},
		{"nobody wrote it down", []*logdir.Dir{dir(true, logdir.NoBrokerEpoch)}, true, 0},
	} {
		if clean, epoch := lastShutdown(c.dirs); clean != c.clean || epoch != c.epoch {
			t.Errorf("%s: %v by %d, want %v by %d", c.says, clean, epoch, c.clean, c.epoch)
		}
	}
}
