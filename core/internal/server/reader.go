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
	careful  bool      // it holds memory that others may come to need
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
		if r.c.info.ExpectsTokens() {
			if more, err := r.token(rest); err != nil || !more {
				return err
			}
			continue
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
		if err := r.c.srv.checkSize(key, size); err != nil {
			return err
		}
		total := lengthSize + size
		switch {
		case len(rest) >= total:
			r.r += total
			r.started = time.Time{} // what follows is another frame, with time of its own
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
	if size > maxUnauthenticated && r.c.info.Identity() == nil {
		return 0, fmt.Errorf("%w: %d bytes before authentication, want at most %d", errFrameSize, size, maxUnauthenticated)
	}
	return int(size), nil
}

// begin notes that a frame is under way, whose time runs.
func (r *reader) begin() {
	if r.started.IsZero() {
		r.started, r.arrived = r.now, 0
	}
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
	return r.handle(m, h, body, len(frame))
}

// handle starts a request of a frame of size bytes. It takes over a reference to m.
func (r *reader) handle(m *memory, h wire.Header, body []byte, size int) error {
	s := r.c.srv.slots.Get().(*slot)
	s.conn, s.mem, s.serial = r.c, m, !r.c.srv.nature(h.Key).Pipelined
	s.req.Init(h, body, &r.c.info, r.now, s, &r.c.srv.responses)
	r.c.srv.m.inFlight.Add(1)
	r.c.srv.m.request(h.Key)
	weight, alive := r.c.weigh(s, size)
	if alive = alive && r.c.enqueue(s); alive {
		r.c.srv.opt.Handler.Handle(&s.req) // s may be free from here on
	} else {
		s.ReleaseBody()
		s.unweigh()
		s.free()
	}
	if weight > 0 {
		r.c.srv.decoding.Release(weight)
	}
	if !alive {
		return errStopped
	}
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
