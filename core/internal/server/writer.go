package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/mortisemq/mortise/core/wire"
)

// Sizes of writing, in bytes.
const (
	outSize     = 64 << 10 // the buffer in which small pieces are gathered
	gatherLimit = 4 << 10  // larger heads are written from where they are
	copyLimit   = 16 << 10 // larger bodies are sent, not copied
	inlineLimit = 64 << 10 // answers with more in bodies are not written by the reader
	maxBatch    = 256      // answers taken from the queue at once
	maxPieces   = 64       // of one writev
)

// writer gathers answers into few writes. It belongs to whoever set conn.writing.
type writer struct {
	c        *conn
	batch    []*slot
	out      []byte      // gathered bytes; its array is the pool's
	from     int         // where the piece under way starts in out
	pieces   net.Buffers // of the next writev, on array
	array    [maxPieces][]byte
	size     int64 // of pieces and of out[from:]
	deadline time.Time
}

func (w *writer) init(c *conn) { w.c = c }

// lateWriter writes answers that came after the reader's batch. The caller has
// set writing.
func (c *conn) lateWriter() {
	defer c.srv.running.Done()
	c.writeReady()
}

// endBatch writes what is answered, as the reader: large bodies are left to a
// goroutine, so that the next requests start while they leave.
func (c *conn) endBatch() {
	c.mu.Lock()
	c.inBatch = false
	if c.writing || c.head == nil || !c.head.done {
		c.mu.Unlock()
		return
	}
	c.writing = true
	big := c.readyBodies() > inlineLimit
	if big {
		c.srv.running.Add(1)
	}
	c.mu.Unlock()
	if big {
		go c.writeLate()
		return
	}
	c.writeReady()
}

// readyBodies is the size of the bodies that can be written now. Caller holds mu.
func (c *conn) readyBodies() (n int64) {
	for s := c.head; s != nil && s.done && n <= inlineLimit; s = s.next {
		if s.resp != nil {
			n += s.resp.BodyLen()
		}
	}
	return n
}

// writeReady writes the answered prefix of the queue until there is none, and
// gives up writing. The caller has set writing.
// Hot: 0 allocs and one write for up to outSize of small answers.
func (c *conn) writeReady() {
	w := &c.write
	for {
		more, drop := w.take()
		if !more {
			return // and w is somebody else's from here on
		}
		err := w.send()
		w.freeBatch()
		if err == nil {
			err = drop
		}
		if err != nil {
			c.kill(err) // writing stays set: nobody writes after a broken answer
			return
		}
	}
}

// take moves the answered prefix to the batch, or clears writing and returns
// false when there is none. drop is why the connection must close after the
// batch, which may then be empty: a request was dropped, or its answer is the last.
func (w *writer) take() (more bool, drop error) {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := c.head; s != nil && s.done && len(w.batch) < maxBatch; s = c.head {
		if s.drop != nil {
			return true, s.drop
		}
		c.head = s.next
		if c.head == nil {
			c.tail = nil
		}
		w.batch = append(w.batch, s)
		if last := s.req.ClosesAfter(); last != nil {
			return true, last
		}
	}
	if len(w.batch) == 0 {
		c.writing = false
		c.changed.Broadcast()
		return false, nil
	}
	return true, nil
}

// freeBatch ends the batch's slots.
func (w *writer) freeBatch() {
	c := w.c
	var bytes int64
	var throttle int32
	n := len(w.batch)
	for i, s := range w.batch {
		if s.resp != nil {
			bytes += s.resp.Len() - s.resp.BodyLen()
		}
		throttle = max(throttle, s.req.Throttle())
		s.free()
		w.batch[i] = nil
	}
	w.batch = w.batch[:0]
	now := time.Now()
	c.mu.Lock()
	c.inFlight -= n
	c.outBytes -= bytes
	c.countUnread(c.outBytes)
	c.active = now
	if throttle > 0 {
		c.muted = now.Add(time.Duration(throttle) * time.Millisecond)
	}
	c.changed.Broadcast()
	c.mu.Unlock()
}

// send writes the batch to the socket.
func (w *writer) send() error {
	buf := w.c.srv.outs.Get().(*[]byte)
	w.out, w.from, w.size = (*buf)[:0], 0, 0
	w.pieces = w.array[:0]
	var err error
	for _, s := range w.batch {
		if s.resp == nil {
			continue
		}
		if err = s.resp.Pieces(w.head, w.body); err != nil {
			break
		}
	}
	if err == nil {
		err = w.flush()
	}
	clear(w.array[:])
	w.out = nil
	w.c.srv.outs.Put(buf)
	return err
}

// head takes bytes that are in memory.
func (w *writer) head(b []byte) error {
	if len(b) <= gatherLimit {
		if err := w.room(len(b)); err != nil {
			return err
		}
		w.out = append(w.out, b...)
		w.size += int64(len(b))
		return nil
	}
	w.cut()
	if len(w.pieces) >= maxPieces-1 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.pieces = append(w.pieces, b)
	w.size += int64(len(b))
	return nil
}

// room makes place for n gathered bytes.
func (w *writer) room(n int) error {
	if cap(w.out)-len(w.out) < n || len(w.pieces) >= maxPieces-1 {
		return w.flush()
	}
	return nil
}

// cut ends the gathered piece under way.
func (w *writer) cut() {
	if w.from < len(w.out) {
		w.pieces = append(w.pieces, w.out[w.from:len(w.out):len(w.out)])
		w.from = len(w.out)
	}
}

// body takes a body: a small one is copied beside the heads around it, so that
// an answer with few records is one packet; a large one is sent after them.
func (w *writer) body(b wire.Body) error {
	n := b.Len()
	if n <= copyLimit {
		if err := w.room(int(n)); err != nil {
			return err
		}
		sent, err := b.WriteTo(w)
		return checkBody(n, sent, err)
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.arm(n)
	sent, err := b.WriteTo(w.c.nc)
	w.c.srv.m.bytesOut.Add(uint64(sent))
	return w.explain(checkBody(n, sent, err))
}

// checkBody turns a body that did not write all it had announced into an error.
func checkBody(want, sent int64, err error) error {
	if err == nil && sent != want {
		return fmt.Errorf("%w: %d of %d bytes", errShortBody, sent, want)
	}
	return err
}

// Write implements io.Writer for bodies that are copied: room was made.
func (w *writer) Write(b []byte) (int, error) {
	if len(b) > cap(w.out)-len(w.out) {
		return 0, fmt.Errorf("%w: body longer than announced", errShortBody)
	}
	w.out = append(w.out, b...)
	w.size += int64(len(b))
	return len(b), nil
}

// flush writes what is gathered: one write, or one writev.
func (w *writer) flush() error {
	w.cut()
	if len(w.pieces) == 0 {
		return nil
	}
	w.arm(w.size)
	var err error
	if len(w.pieces) == 1 {
		_, err = w.c.nc.Write(w.pieces[0])
	} else {
		_, err = w.pieces.WriteTo(w.c.nc)
	}
	w.c.srv.m.bytesOut.Add(uint64(w.size))
	w.pieces = w.array[:0]
	w.out, w.from, w.size = w.out[:0], 0, 0
	return w.explain(err)
}

// arm gives n bytes their time. For small writes the socket's deadline is moved
// only when it has come near, so that most writes do not touch it.
func (w *writer) arm(n int64) {
	now, timeout := time.Now(), w.c.srv.limits().WriteTimeout
	if need := timeout + atPace(n); w.deadline.Sub(now) < need {
		w.deadline = now.Add(need + timeout/2)
		w.c.nc.SetWriteDeadline(w.deadline) //nolint:errcheck // the write will tell
	}
}

// explain names a write that ran out of time.
func (w *writer) explain(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %w", errWriteTimeout, err)
	}
	return err
}
