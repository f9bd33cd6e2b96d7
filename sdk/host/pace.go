package host

import (
	"io"
	"sync"
	"time"
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
	over chan struct{} // closed when nobody has to wait any more

	mu     sync.Mutex
	credit float64   // bytes; below zero: too many were read already; guarded by mu
	at     time.Time // when credit was counted; guarded by mu
}

func newPace() *pace { return &pace{over: make(chan struct{}), credit: outputBurst, at: time.Now()} }

// spend counts bytes that were read, and waits until that many may have been, unless it
// would be for less than pauseMin.
func (p *pace) spend(bytes int) {
	wait := p.count(bytes)
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

// count takes bytes off the credit, and says when there is some again.
func (p *pace) count(bytes int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.credit = min(p.credit+now.Sub(p.at).Seconds()*outputRate, outputBurst) - float64(bytes)
	p.at = now
	return time.Duration(-p.credit / outputRate * float64(time.Second))
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
