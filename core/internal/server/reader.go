package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mortisemq/mortise/core/wire"
)

// Frame arithmetic, in bytes.
const (
	lengthSize   = 4
	minFrame     = 10 // a header with a null client id
	bigFrame     = 16 << 10
	quietReads   = 16 // small reads in a row after which a large buffer is given up
	afterLength  = lengthSize + wire.PeekSize
	minReadSpace = 512
)

// reader cuts what arrives into frames. It belongs to the connection's reading
// goroutine.
type reader struct {
	c      *conn
	limits Limits

	mem   *memory // with unparsed bytes at [r, w)
	r, w  int
	limit int // how much is read at once: smallRead or largeRead
	quiet int // small reads in a row

	first    bool      // nothing was parsed yet
	now      time.Time // when the last read returned
	last     time.Time // when the last bytes came
	deadline time.Time // set on the socket
	started  time.Time // when the frame under way began; zero: none
	arrived  int64     // bytes of it in memory of its own
	mem1     *memory   // the large frame under way, to be freed after an error
}

func (r *reader) init(c *conn) {
	r.c, r.limit, r.first = c, smallRead, true
	r.limits = c.srv.limits()
	r.mem = c.srv.pools.get(smallRead)
	r.now = time.Now()
	r.last = r.now
}

// close gives the reader's memory back.
func (r *reader) close() {
	r.mem.release()
	if r.mem1 != nil {
		r.mem1.release()
	}
}

// loop reads and starts requests until there is nothing more to read. The error
// says why.
func (r *reader) loop() error {
	for {
		if err := r.fill(); err != nil {
			return err
		}
		r.limits = r.c.srv.limits()
		if err := r.parse(); err != nil {
			return err
		}
		r.c.endBatch()
	}
}

// fill reads once, into room after the bytes that are there.
// Hot: one syscall for as many small requests as have arrived.
func (r *reader) fill() error {
	if err := r.makeRoom(); err != nil {
		return err
	}
	space := r.mem.buf[r.w:min(len(r.mem.buf), r.w+r.limit)]
	n, err := r.readSome(space)
	r.w += n
	if err != nil {
		return err
	}
	r.adapt(n, len(space))
	return nil
}

// adapt chooses how much to read next time. A read that filled its space has
// more behind it; large frames take it back, as they must not be copied through
// here.
func (r *reader) adapt(n, space int) {
	switch {
	case n == space:
		r.limit, r.quiet = largeRead, 0
	case n <= smallRead/2:
		r.quiet++
	default:
		r.quiet = 0
	}
	if r.quiet >= quietReads {
		r.limit = smallRead
	}
}

// makeRoom sees to it that there is space after w, in memory of a size that fits
// how the connection behaves.
func (r *reader) makeRoom() error {
	have, pending := r.w-r.r, r.pending()
	want := r.limit
	if pending > want {
		want = smallFrame
	}
	enough := len(r.mem.buf)-r.w >= max(pending-have, minReadSpace)
	switch shared := r.mem.shared(); {
	case len(r.mem.buf) < want, shared && !enough, !shared && have == 0 && len(r.mem.buf) > want:
		return r.swap(want)
	case !shared && (have == 0 || !enough):
		r.w = copy(r.mem.buf, r.mem.buf[r.r:r.w])
		r.r = 0
	}
	return nil
}

// pending is the size of the frame at r, as far as it is known, that must fit.
func (r *reader) pending() int {
	if r.w-r.r < lengthSize {
		return lengthSize
	}
	total := lengthSize + int(binary.BigEndian.Uint32(r.mem.buf[r.r:]))
	if total > smallFrame {
		return afterLength
	}
	return total
}

// swap moves the unparsed bytes to other memory. The old one lives on while
// requests point into it, and from now on that is charged.
func (r *reader) swap(size int) error {
	if r.mem.shared() {
		if err := r.c.charge(int64(len(r.mem.buf))); err != nil {
			return err
		}
		r.mem.owner, r.mem.charged = r.c, int64(len(r.mem.buf))
	}
	next := r.c.srv.pools.get(size)
	r.w = copy(next.buf, r.mem.buf[r.r:r.w])
	r.r = 0
	r.mem.release()
	r.mem = next
	return nil
}

// parse starts every request that is complete, and reads a large one to its end.
func (r *reader) parse() error {
	for {
		rest := r.mem.buf[r.r:r.w]
		if len(rest) < lengthSize {
			break
		}
		size, err := r.frameSize(rest)
		if err != nil {
			return err
		}
		if len(rest) < afterLength {
			break
		}
		key, version := wire.PeekVersion(rest[lengthSize:])
		if err := r.c.srv.checkVersion(key, version); err != nil {
			return err
		}
		total := lengthSize + size
		switch {
		case len(rest) >= total:
			r.r += total
			r.mem.hold()
			err = r.start(r.mem, rest[lengthSize:total:total])
		case total <= smallFrame:
			r.begin()
			return nil
		default:
			err = r.large(size)
		}
		if err != nil {
			return err
		}
	}
	if r.r < r.w {
		r.begin()
	} else {
		r.started = time.Time{}
	}
	return nil
}

// frameSize checks the length at the start of rest. Nothing is allocated by it.
func (r *reader) frameSize(rest []byte) (int, error) {
	if r.first {
		if err := sniff(rest); err != nil {
			return 0, err
		}
	}
	r.first = false
	size := int32(binary.BigEndian.Uint32(rest))
	if size < minFrame || size > r.limits.RequestMaxBytes {
		return 0, fmt.Errorf("%w: %d bytes, want %d to %d (socket.request.max.bytes)", errFrameSize, size, minFrame, r.limits.RequestMaxBytes)
	}
	return int(size), nil
}

// begin notes that a frame is under way, whose time runs.
func (r *reader) begin() {
	if r.started.IsZero() {
		r.started, r.arrived = r.now, 0
	}
}

// large reads a frame of size bytes into memory of its own, straight from the
// socket but for what is in the buffer already.
func (r *reader) large(size int) error {
	r.c.endBatch()
	r.begin()
	if size > bigFrame {
		r.limit, r.quiet = smallRead, 0
	}
	m, err := r.allocate(min(size, eagerFrame))
	if err != nil {
		return err
	}
	r.mem1 = m
	have := copy(m.buf, r.mem.buf[r.r+lengthSize:r.w])
	r.r = r.w
	for have < size {
		if have == len(m.buf) {
			if err := r.grow(m, size); err != nil {
				return err
			}
		}
		n, err := r.readSome(m.buf[have:min(size, len(m.buf))])
		have += n
		r.arrived = int64(have)
		if err != nil {
			return err
		}
	}
	r.mem1, r.started = nil, time.Time{}
	return r.start(m, m.buf[:size:size])
}

// allocate returns memory for n bytes of a frame, charged before it is there.
func (r *reader) allocate(n int) (*memory, error) {
	_, size := classOf(n)
	if err := r.c.charge(int64(size)); err != nil {
		return nil, err
	}
	m := r.c.srv.pools.get(n)
	m.owner, m.charged = r.c, int64(size)
	return m, nil
}

// grow doubles m for a frame of size bytes, of which a first part has arrived.
// The whole frame is charged when the first doubling is due: what was charged
// before is given up first, so that nobody waits while holding.
func (r *reader) grow(m *memory, size int) error {
	if m.charged < int64(size) {
		n := m.charged
		m.owner, m.charged = nil, 0
		r.c.refund(n)
		if err := r.c.charge(int64(size)); err != nil {
			return err
		}
		m.owner, m.charged = r.c, int64(size)
	}
	bigger := make([]byte, min(size, 2*len(m.buf)))
	copy(bigger, m.buf)
	m.pools.put(m.buf)
	m.buf, m.pools = bigger, nil
	return nil
}

// start hands a frame to the handler. It takes over a reference to m.
// Hot: 0 allocs.
func (r *reader) start(m *memory, frame []byte) error {
	var h wire.Header
	body, err := wire.DecodeHeader(&h, frame)
	if err != nil {
		m.release()
		return err
	}
	s := r.c.srv.slots.Get().(*slot)
	s.conn, s.mem = r.c, m
	s.req.Init(h, body, &r.c.info, r.now, s, &r.c.srv.responses)
	r.c.srv.m.inFlight.Add(1)
	r.c.srv.m.request(h.Key)
	if !r.c.enqueue(s) {
		s.ReleaseBody()
		s.free()
		return errStopped
	}
	r.c.srv.opt.Handler.Handle(&s.req)
	return nil
}

// readSome reads once. It returns when there are bytes, the peer is gone, or the
// connection's time is over.
func (r *reader) readSome(b []byte) (int, error) {
	for {
		r.arm()
		n, err := r.c.nc.Read(b)
		r.now = time.Now()
		if n > 0 {
			r.last = r.now
			r.c.srv.m.bytesIn.Add(uint64(n))
			return n, r.late()
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, err
		}
		if err := r.expired(); err != nil {
			return 0, err
		}
	}
}

// arm keeps the socket's deadline at most FrameTimeout away, and moves it only
// when half of that has passed: it is a reason to look (expired), not a verdict.
func (r *reader) arm() {
	if r.deadline.Sub(r.now) < r.limits.FrameTimeout/2 {
		r.setDeadline(r.now.Add(r.limits.FrameTimeout))
	}
	if r.c.draining.Load() {
		r.setDeadline(longAgo)
	}
}

func (r *reader) setDeadline(t time.Time) {
	r.deadline = t
	r.c.nc.SetReadDeadline(t) //nolint:errcheck // the read will tell
}

// late is the error of a frame that trickles in too slowly.
func (r *reader) late() error {
	if r.started.IsZero() {
		return nil
	}
	if due := r.frameDue(); r.now.After(due) {
		return fmt.Errorf("%w: began %v ago, %d bytes arrived", errFrameTimeout, r.now.Sub(r.started), r.arrived)
	}
	return nil
}

func (r *reader) frameDue() time.Time {
	return r.started.Add(r.limits.FrameTimeout + atPace(r.arrived))
}

// expired decides what it means that nothing came until the deadline, and sets
// the next one.
func (r *reader) expired() error {
	switch {
	case r.c.draining.Load():
		return errStopped
	case !r.started.IsZero():
		if err := r.late(); err != nil {
			return err
		}
		r.setDeadline(r.frameDue().Add(time.Millisecond))
		return nil
	}
	return r.expiredIdle()
}

// expiredIdle is expired between frames. A connection that waits for an answer is
// not idle.
func (r *reader) expiredIdle() error {
	r.limits = r.c.srv.limits()
	active, waits := r.c.activity()
	if r.last.After(active) {
		active = r.last
	}
	due := active.Add(r.limits.IdleTimeout)
	if !waits && r.limits.IdleTimeout > 0 && !due.After(r.now) {
		return fmt.Errorf("%w: %v", errIdle, r.limits.IdleTimeout)
	}
	next := r.now.Add(r.limits.FrameTimeout)
	if due.After(r.now) && due.Before(next) {
		next = due
	}
	r.setDeadline(next)
	return nil
}
