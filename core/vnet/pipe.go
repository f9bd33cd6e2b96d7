package vnet

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipeBytesMax is how much one direction holds before a writer waits, as a
// socket buffer does.
const pipeBytesMax = 256 << 10

// errReset is what both ends see when a connection is cut, and who writes to an end that
// is closed: the system's error, for those who look for it.
var errReset = fmt.Errorf("the network: %w", syscall.ECONNRESET)

// pipe is one direction of a connection: bytes that have been written and not
// yet read, each with the time from which it may be read.
//
// Waiting is on channels, so that a goroutine in it is durably blocked for
// testing/synctest. Lock order: pipe.mu alone.
type pipe struct {
	mu      sync.Mutex
	chunks  []chunk // guarded by mu
	held    int     // bytes in chunks
	closed  bool    // the writer has said the last word
	broken  error   // both ends fail from now on
	changed chan struct{}
}

// chunk is what one write left.
type chunk struct {
	data []byte
	at   time.Time // may be read from then on
}

func newPipe() *pipe { return &pipe{changed: make(chan struct{})} }

// wake tells everybody who waits to look again. Caller holds mu.
func (p *pipe) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// write adds bytes that may be read after delay, and waits while there is no
// room. lose throws them away, as a network that drops does.
func (p *pipe) write(b []byte, delay func() (d time.Duration, lose bool), deadline *deadline) (int, error) {
	written := 0
	for {
		p.mu.Lock()
		switch {
		case written > 0 && written == len(b): // whatever has become of the pipe since
			p.mu.Unlock()
			return written, nil
		case p.broken != nil:
			p.mu.Unlock()
			return written, p.broken
		case p.closed:
			p.mu.Unlock()
			return written, io.ErrClosedPipe
		case written == len(b):
			p.mu.Unlock()
			return written, nil
		}
		if room := pipeBytesMax - p.held; room > 0 {
			part := b[written:min(len(b), written+room)]
			written += len(part)
			if d, lose := delay(); !lose {
				at := time.Now().Add(d)
				if n := len(p.chunks); n > 0 && p.chunks[n-1].at.After(at) {
					at = p.chunks[n-1].at // a stream keeps its order
				}
				p.chunks = append(p.chunks, chunk{append([]byte(nil), part...), at})
				p.held += len(part)
				p.wake()
			}
			p.mu.Unlock()
			continue
		}
		changed := p.changed
		p.mu.Unlock()
		if err := deadline.wait(changed, time.Time{}); err != nil {
			return written, err
		}
	}
}

// read takes bytes that have arrived, and waits while there are none.
func (p *pipe) read(b []byte, deadline *deadline) (int, error) {
	for {
		p.mu.Lock()
		if p.broken != nil {
			p.mu.Unlock()
			return 0, p.broken
		}
		var due time.Time
		if len(p.chunks) > 0 {
			first := &p.chunks[0]
			if due = first.at; !due.After(time.Now()) {
				n := copy(b, first.data)
				if first.data = first.data[n:]; len(first.data) == 0 {
					p.chunks = p.chunks[1:]
				}
				p.held -= n
				p.wake()
				p.mu.Unlock()
				return n, nil
			}
		} else if p.closed {
			p.mu.Unlock()
			return 0, io.EOF
		}
		changed := p.changed
		p.mu.Unlock()
		if err := deadline.wait(changed, due); err != nil {
			return 0, err
		}
	}
}

// close says that no more will be written; what is on its way still arrives.
func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		p.wake()
	}
}

// fail breaks the direction at once; what is on its way is lost.
func (p *pipe) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken == nil {
		p.broken, p.chunks, p.held = err, nil, 0
		p.wake()
	}
}

// deadline is the end of a Read or Write that may be moved while one waits.
type deadline struct {
	mu    sync.Mutex
	at    time.Time     // zero: none
	moved chan struct{} // closed when at changes
	gone  bool          // the connection was closed at this end
}

func newDeadline() *deadline { return &deadline{moved: make(chan struct{})} }

// set moves the deadline.
func (d *deadline) set(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = at
	close(d.moved)
	d.moved = make(chan struct{})
}

// close ends every wait with net.ErrClosed.
func (d *deadline) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.gone {
		d.gone = true
		close(d.moved)
		d.moved = make(chan struct{})
	}
}

// check is the error of a call that starts now.
func (d *deadline) check() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.gone:
		return net.ErrClosed
	case !d.at.IsZero() && !d.at.After(time.Now()):
		return os.ErrDeadlineExceeded
	}
	return nil
}

// isClosed says whether this end was closed.
func (d *deadline) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone
}

// closedOr is err, unless that comes of this end having been closed meanwhile.
func (d *deadline) closedOr(err error) error {
	if err != nil && !isEOF(err) && d.isClosed() {
		return net.ErrClosed
	}
	return err
}

// waiting is what somebody who waits for something else has to wait for as well: that
// the deadline moves, and that it comes (nil: there is none). stop ends it.
func (d *deadline) waiting() (moved <-chan struct{}, timeout <-chan time.Time, stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at.IsZero() {
		return d.moved, nil, func() {}
	}
	timer := time.NewTimer(time.Until(d.at))
	return d.moved, timer.C, func() { timer.Stop() }
}

// wait waits for changed, for the time due (zero: none), or for the deadline,
// whose error it returns.
func (d *deadline) wait(changed <-chan struct{}, due time.Time) error {
	if err := d.check(); err != nil {
		return err
	}
	d.mu.Lock()
	at, moved := d.at, d.moved
	d.mu.Unlock()
	if at.IsZero() || !due.IsZero() && due.Before(at) {
		at = due
	}
	var timeout <-chan time.Time
	if !at.IsZero() {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-changed:
	case <-moved:
	case <-timeout:
	}
	return d.check()
}
