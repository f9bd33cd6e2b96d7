package record

import (
	"errors"
	"testing"
)

// Batches that become large take turns; small ones never wait.
func TestLargeBatchesTakeTurns(t *testing.T) {
	large, small := compressed(Gzip, make([]byte, quickBytes+1)), compressed(Gzip, make([]byte, 1000))
	taken := cap(turns)
	for range taken {
		turns <- struct{}{}
	}
	defer func() {
		for range taken {
			endTurn()
		}
	}()
	out, done, err := decompressInTurn(nil, Gzip, small, 1<<30)
	if done(); err != nil || len(out) != 1000 {
		t.Fatalf("%d bytes, error %v", len(out), err)
	}
	if _, done, err = decompressInTurn(nil, Gzip, large, quickBytes); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("error %v, want ErrTooLarge", err)
	}
	done()
	ready := make(chan int)
	go func() {
		out, done, err := decompressInTurn(nil, Gzip, large, 1<<30)
		defer done()
		if err != nil {
			t.Error(err)
		}
		ready <- len(out)
	}()
	endTurn()
	taken--
	if n := <-ready; n != quickBytes+1 {
		t.Fatalf("%d bytes, want %d", n, quickBytes+1)
	}
}
