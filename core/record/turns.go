package record

import (
	"errors"
	"runtime"
)

// quickBytes is what a batch of a client may decompress to without waiting for a
// turn. Honest batches are smaller.
const quickBytes = 1 << 20

// turns are taken by batches that become larger. Each is processor's work from
// beginning to end, so more at once would only hold more memory: a thousand
// connections that send a batch of 100 KB which becomes 100 MB took 9 GB. Like the
// pools they are about memory only; nothing depends on who comes first.
var turns = make(chan struct{}, runtime.GOMAXPROCS(0))

// decompressInTurn is decompress for batches that many clients send at once. done
// must be called when the result is not used any more.
func decompressInTurn(dst []byte, codec Codec, src []byte, limit int) (out []byte, done func(), err error) {
	out, err = decompress(dst, codec, src, min(limit, quickBytes))
	if limit <= quickBytes || !errors.Is(err, ErrTooLarge) {
		return out, noTurn, err
	}
	out = nil // nobody waits with more than the batch itself
	turns <- struct{}{}
	out, err = decompress(out, codec, src, limit)
	return out, endTurn, err
}

func noTurn() {}

func endTurn() { <-turns }
