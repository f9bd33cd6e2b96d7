package server

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Sizes of memory in bytes.
const (
	smallRead  = 4 << 10  // what a quiet connection reads at once
	largeRead  = 64 << 10 // what a connection with many small requests reads at once
	smallFrame = 8 << 10  // larger frames are read into memory of their own
	eagerFrame = 1 << 20  // larger frames get memory as their bytes arrive

	minClassBits = 12 // smallRead
	maxClassBits = 20 // eagerFrame
	classes      = (maxClassBits-minClassBits)*4 + 1
)

// memory is a piece of memory that requests point into: a reader's buffer with
// many small frames, or one large frame. The last one out gives it back.
type memory struct {
	buf   []byte
	refs  atomic.Int32
	pools *pools // nil: garbage when released

	// Set while somebody else still holds a reference, by charge.
	owner   *conn // nil: not charged
	charged int64 // to the owner and to the budget
}

// pools keep memory by size class, four to a doubling, from smallRead to
// eagerFrame.
type pools struct {
	class [classes]sync.Pool
}

// classOf is the class of n bytes and its size; -1 when n is larger than all.
func classOf(n int) (class, size int) {
	if n <= smallRead {
		return 0, smallRead
	}
	if n > eagerFrame {
		return -1, n
	}
	shift := bits.Len(uint(n-1)) - 3     // four steps between powers of two
	steps := (n + 1<<shift - 1) >> shift // 5 … 8
	return (shift-minClassBits+2)*4 + steps - 4, steps << shift
}

// get returns memory of at least n bytes with one reference, charged to nobody.
// Hot: 0 allocs when pooled.
func (p *pools) get(n int) *memory {
	class, size := classOf(n)
	if class < 0 {
		m := &memory{buf: make([]byte, n)}
		m.refs.Store(1)
		return m
	}
	m, _ := p.class[class].Get().(*memory)
	if m == nil {
		m = &memory{buf: make([]byte, size), pools: p}
	}
	m.refs.Store(1)
	return m
}

// hold takes another reference.
func (m *memory) hold() { m.refs.Add(1) }

// shared reports whether anybody but the caller holds m.
func (m *memory) shared() bool { return m.refs.Load() > 1 }

// release gives a reference back.
func (m *memory) release() {
	if m.refs.Add(-1) > 0 {
		return
	}
	if m.owner != nil {
		m.owner.refund(m.charged)
		m.owner, m.charged = nil, 0
	}
	if m.pools != nil {
		scribble(m.buf)
		class, _ := classOf(len(m.buf))
		m.pools.class[class].Put(m)
	}
}

// put gives a buffer back that its memory has outgrown. nil pools: garbage.
func (p *pools) put(buf []byte) {
	if p == nil {
		return
	}
	scribble(buf)
	class, _ := classOf(len(buf))
	p.class[class].Put(&memory{buf: buf, pools: p})
}
