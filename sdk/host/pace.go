package host

import (
	"io"
	"time"

	"golang.org/x/time/rate"
)

// How much of a process's output is read: one that writes without an end would keep the
// broker's processors busy. What is beyond waits in the pipe, and so does the process.
const (
	outputRate  = 4 << 20 // bytes a second in the long run
	outputBurst = 8 << 20 // bytes
	lineCost    = 1 << 10 // bytes that a line counts as beside its own
	pauseMin    = 10 * time.Millisecond
)

// pace holds those who read one process's output to outputRate. It is safe for
// concurrent use.
type pace struct {
	over  chan struct{} // closed when nobody has to wait any more
	limit *rate.Limiter // of bytes
}

func newPace() *pace {
	return &pace{over: make(chan struct{}), limit: rate.NewLimiter(outputRate, outputBurst)}
}

// spend counts bytes that were read, at most outputBurst, and waits until that many may
// have been, unless it would be for less than pauseMin.
func (p *pace) spend(bytes int) {
	now := time.Now()
	wait := p.limit.ReserveN(now, bytes).DelayFrom(now)
	if wait < pauseMin {
		return
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.over:
	}
}

// end lets everybody go on.
func (p *pace) end() { close(p.over) }

// pacedReader reads at a pace.
type pacedReader struct {
	io.Reader
	pace *pace
}

// Read implements io.Reader.
func (r pacedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.pace.spend(n)
	return n, err
}
