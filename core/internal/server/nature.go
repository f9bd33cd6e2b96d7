package server

import "fmt"

// Nature is how the requests of a key are treated. The zero value is the careful
// one, which fits all that are seldom and need not be fast.
type Nature struct {
	// Large allows frames up to socket.request.max.bytes, else up to MaxOrdinary:
	// what is made of a frame of many tiny parts is many times its size.
	Large bool
	// Pipelined starts the next request of the connection before this one is
	// answered. Others answer first, as all do in Kafka, so that a peer that does
	// not read has one answer waiting and not as many as it has sent requests.
	Pipelined bool
	// Waits is set when the answer can wait for requests of other connections, as
	// that of JoinGroup: the request must not hold what they need to start.
	Waits bool
}

// MaxOrdinary is the largest frame of a key that is not Large, in bytes.
const MaxOrdinary = 8 << 20

// What ordinary requests of some size may take while they are worked on.
const (
	expansion   = 32        // bytes in memory for a byte of the frame, about
	decodeBytes = 512 << 20 // over all connections
)

// nature is the nature of a key.
func (s *Server) nature(key int16) Nature {
	if s.opt.Nature == nil {
		return Nature{Large: true, Pipelined: true}
	}
	return s.opt.Nature(key)
}

// checkSize refuses a frame that is too large for its key, before its body is
// read.
func (s *Server) checkSize(key int16, size int) error {
	if size > MaxOrdinary && !s.nature(key).Large {
		return fmt.Errorf("%w: %d bytes, want at most %d for key %d", errFrameSize, size, MaxOrdinary, key)
	}
	return nil
}

// weigh charges what a request of n bytes will be turned into, and waits for it,
// as the reader. It returns false when the connection died. A request that is
// pipelined or Waits gives it back when its handler returns, for it may wait long
// and what waits has bounds of its own; another when it is answered.
func (c *conn) weigh(s *slot, n int) (weight int64, alive bool) {
	if n <= smallFrame || c.srv.nature(s.req.Key).Large {
		return 0, true
	}
	weight = int64(n) * expansion
	if !c.srv.decoding.TryAcquire(weight) {
		c.endBatch()
		if !c.srv.decoding.Acquire(weight, c.stop) {
			return 0, false
		}
	}
	if s.serial && !c.srv.nature(s.req.Key).Waits {
		s.weight, weight = weight, 0
	}
	return weight, true
}

// unweigh gives back what weigh took for the slot.
func (s *slot) unweigh() {
	if s.weight > 0 {
		s.conn.srv.decoding.Release(s.weight)
		s.weight = 0
	}
}
