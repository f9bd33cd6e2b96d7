package server

import "time"

// carefulFrame is how much of a frame over eagerFrame is charged and allocated
// before its bytes came when half of the budget is in use, in bytes. Smaller ones
// get all at once, so that they never wait while holding.
const carefulFrame = 64 << 10

// growWait is how long a frame under way may wait for the memory of its rest: long
// enough for slower ones to be hurried out of the way. It holds the memory of its
// beginning meanwhile, so it must not wait for ever.
const growWait = hurryGrace + hurryLook

// large reads a frame of size bytes into memory of its own, straight from the
// socket but for what is in the buffer already.
func (r *reader) large(size int) error {
	r.c.endBatch()
	r.begin()
	if size > bigFrame {
		r.limit, r.quiet = smallRead, 0
	}
	first := min(size, eagerFrame)
	if r.careful = r.c.srv.opt.Budget.HalfUsed(); r.careful && size > eagerFrame {
		first = carefulFrame
	}
	r.careful = r.careful || size > eagerFrame
	m, err := r.allocate(first)
	if r.excuse(); err != nil {
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
	r.mem1, r.careful, r.started = nil, false, time.Time{}
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
// Only what arrived is charged, twice at most: a peer that announces much and
// sends little must not take the budget from others.
func (r *reader) grow(m *memory, size int) error {
	_, next := classOf(min(size, 2*len(m.buf)))
	err := r.c.extend(int64(next)-m.charged, m.charged)
	if r.excuse(); err != nil {
		return err
	}
	m.charged = int64(next)
	bigger := r.c.srv.pools.get(next)
	copy(bigger.buf, m.buf)
	m.pools.put(m.buf)
	m.buf, m.pools = bigger.buf, bigger.pools
	return nil
}

// excuse takes the time since the last read off the frame's: the peer is not to
// blame when we waited for memory.
func (r *reader) excuse() {
	now := time.Now()
	r.started = r.started.Add(now.Sub(r.now))
	r.now = now
}

// extend takes n bytes more for a frame that holds own. They go back by refund.
func (c *conn) extend(n, own int64) error {
	if err := c.awaitHeld(n, own); err != nil {
		return err
	}
	budget := c.srv.opt.Budget
	if !budget.Extend(n, own, c.stop, growWait) {
		return errNoMemory
	}
	c.held.Add(n)
	return nil
}
