package consensus

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/meta"
)

// A node without neighbours waits for its own slow disk as long as it is started: nobody
// else could decide, nor have removed it.
func TestLoneNodeRegistersLate(t *testing.T) {
	dir := t.TempDir() // outlives the group
	synctest.Test(t, func(t *testing.T) {
		g := open(t, dir)
		if err := g.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		ready := make(chan struct{})
		g.ready = ready
		time.AfterFunc(3*registerWait, func() { close(ready) })
		epoch, err := g.RegisterBroker(t.Context(), meta.Registration{ID: 1})
		if err != nil {
			t.Fatal(err)
		}
		if b, known := g.Image().Broker(1); !known || b.Epoch != epoch {
			t.Errorf("registered as %d, and the image has %+v", epoch, b)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
