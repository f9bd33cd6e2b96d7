package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/record"
)

// answer walks through one answer as it arrives. Bytes that nobody looks at are
// dropped from a buffer that fits the processor's cache, so that the reader costs
// little more than its read calls. The first error sticks.
type answer struct {
	in   *bufio.Reader
	left int // bytes of the answer that were not taken yet
	err  error
}

// errAnswer says that an answer is not laid out as it should be.
var errAnswer = errors.New("malformed answer")

// beginAnswer reads the length of the next answer and its correlation id.
func beginAnswer(in *bufio.Reader) *answer {
	a := &answer{in: in, left: 4}
	n := int(int32(binary.BigEndian.Uint32(a.take(4))))
	if a.err == nil && (n < 4 || n > 128<<20) {
		a.err = fmt.Errorf("%w: %d bytes long", errAnswer, n)
	}
	a.left = n
	a.skip(4)
	return a
}

// peek shows the next n bytes; zeros after an error.
func (a *answer) peek(n int) []byte {
	if a.err == nil && n > a.left {
		a.err = fmt.Errorf("%w: %d bytes wanted, %d left", errAnswer, n, a.left)
	}
	if a.err == nil {
		var b []byte
		if b, a.err = a.in.Peek(n); a.err == nil {
			return b
		}
	}
	return make([]byte, n)
}

// skip drops n bytes.
func (a *answer) skip(n int) {
	if a.err == nil && (n < 0 || n > a.left) {
		a.err = fmt.Errorf("%w: %d bytes to skip, %d left", errAnswer, n, a.left)
	}
	if a.err == nil {
		_, a.err = a.in.Discard(n)
		a.left -= n
	}
}

// take is peek and skip; the bytes are good until the next call.
func (a *answer) take(n int) []byte {
	b := a.peek(n)
	a.skip(n)
	return b
}

func (a *answer) int16() int16 { return int16(binary.BigEndian.Uint16(a.take(2))) }
func (a *answer) int32() int32 { return int32(binary.BigEndian.Uint32(a.take(4))) }

// headBytes of a batch are shown to each: its header and the start of its first
// record's value.
const headBytes = stampOffset + 8

// walkFetch reads a Fetch v11 answer of one topic, moves next behind the last
// whole batch of each partition, shows each batch's head (headBytes, or all of a
// smaller batch), and returns how many bytes of whole batches there were.
func walkFetch(in *bufio.Reader, topic string, next []int64, each func(head []byte)) (int64, error) {
	a := beginAnswer(in)
	a.skip(4) // throttle time
	if code := a.int16(); code != 0 {
		return 0, errors.Join(a.err, fmt.Errorf("fetch: error %d", code))
	}
	a.skip(4) // session
	if topics := a.int32(); topics != 1 && a.err == nil {
		return 0, fmt.Errorf("%w: %d topics", errAnswer, topics)
	}
	a.skip(2 + len(topic))
	total := int64(0)
	for range a.int32() {
		n, err := a.partition(next, each)
		total += n
		if err != nil {
			return total, err
		}
	}
	a.skip(a.left)
	return total, a.err
}

// partition walks one partition of a Fetch v11 answer.
func (a *answer) partition(next []int64, each func(head []byte)) (int64, error) {
	p := a.int32()
	if code := a.int16(); code != 0 {
		return 0, errors.Join(a.err, fmt.Errorf("fetch of partition %d: error %d", p, code))
	}
	a.skip(8 + 8 + 8) // high watermark, last stable offset, log start offset
	if aborted := a.int32(); aborted > 0 {
		return 0, fmt.Errorf("%w: %d aborted transactions in a plain topic", errAnswer, aborted)
	}
	a.skip(4) // preferred replica
	n := int(max(0, a.int32()))
	if a.err == nil && (p < 0 || int(p) >= len(next) || n > a.left) {
		a.err = fmt.Errorf("%w: partition %d with %d bytes", errAnswer, p, n)
	}
	used := int64(0)
	for n > 0 && a.err == nil {
		head := a.peek(min(n, headBytes))
		size, err := record.Size(head)
		if err != nil || size > n || len(head) < record.HeaderSize {
			break // torn; it is read again
		}
		next[p] = int64(record.Batch(head).LastOffset()) + 1
		each(head)
		a.skip(size)
		n -= size
		used += int64(size)
	}
	a.skip(n)
	return used, a.err
}
