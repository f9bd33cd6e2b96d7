package wire

import "encoding/binary"

// cursor reads a message from its start. After the first read that does not fit
// it is bad, and every further read gives a zero value, so that a decoder asks
// once at its end. Hot: no allocation.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) fail() {
	c.b, c.bad = nil, true
}

// span takes n bytes. The result's capacity ends with it.
func (c *cursor) span(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.fail()
		return nil
	}
	s := c.b[:n:n]
	c.b = c.b[n:]
	return s
}

func (c *cursor) int8() int8 {
	if s := c.span(1); s != nil {
		return int8(s[0])
	}
	return 0
}

func (c *cursor) int16() int16 {
	if s := c.span(2); s != nil {
		return int16(binary.BigEndian.Uint16(s))
	}
	return 0
}

func (c *cursor) int32() int32 {
	if s := c.span(4); s != nil {
		return int32(binary.BigEndian.Uint32(s))
	}
	return 0
}

func (c *cursor) int64() int64 {
	if s := c.span(8); s != nil {
		return int64(binary.BigEndian.Uint64(s))
	}
	return 0
}

func (c *cursor) uuid() (id [16]byte) {
	copy(id[:], c.span(len(id)))
	return id
}

// uvarint takes an unsigned varint of at most 32 bits.
func (c *cursor) uvarint() uint32 {
	var x uint32
	for i := range c.b {
		b := c.b[i]
		if i == 4 && b > 0x0f { // more than 32 bits
			break
		}
		x |= uint32(b&0x7f) << (7 * i)
		if b < 0x80 {
			c.b = c.b[i+1:]
			return x
		}
	}
	c.fail()
	return 0
}

// compact takes the length of a compact field, which is written as n+1; -1 is null.
func (c *cursor) compact() int { return int(c.uvarint()) - 1 }

// str takes a string that may not be null.
func (c *cursor) str(flexible bool) []byte {
	if flexible {
		return c.span(c.compact())
	}
	return c.span(int(c.int16()))
}

// nullableStr takes a string; nil is null.
func (c *cursor) nullableStr(flexible bool) []byte {
	n := 0
	if flexible {
		n = c.compact()
	} else {
		n = int(c.int16())
	}
	if n < 0 {
		return nil
	}
	return c.span(n)
}

// nullableBytes takes a byte string with an int32 or compact length; nil is null.
func (c *cursor) nullableBytes(flexible bool) []byte {
	n := 0
	if flexible {
		n = c.compact()
	} else {
		n = int(c.int32())
	}
	if n < 0 {
		return nil
	}
	return c.span(n)
}

// array takes the length of an array that may not be null and whose elements
// take at least min bytes each: a length that cannot be true is refused before
// anybody makes room for it.
func (c *cursor) array(flexible bool, min int) int {
	n := 0
	if flexible {
		n = c.compact()
	} else {
		n = int(c.int32())
	}
	if n < 0 || n > len(c.b)/min {
		c.fail()
		return 0
	}
	return n
}

// nullableArray is array, flexible, for one that may be null: null has no elements.
func (c *cursor) nullableArray(min int) int {
	n := c.compact()
	if n > len(c.b)/min {
		c.fail()
		return 0
	}
	return max(n, 0)
}

// tags skips a tag buffer.
func (c *cursor) tags() {
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		c.uvarint()
		c.span(int(c.uvarint()))
	}
}
