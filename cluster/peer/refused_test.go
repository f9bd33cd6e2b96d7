package peer

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/vnet"
)

// listenAloud opens the port of node 2, and shows what it logs. One connection at a time
// may make it log.
func listenAloud(t *testing.T, network *vnet.Mem) (*Port, *strings.Builder) {
	t.Helper()
	said := &strings.Builder{}
	p, err := Listen(Options{Net: network.Host("n2"), Address: ":9390", Node: 2, Log: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() }) //nolint:errcheck // the test is over
	return p, said
}

// A node that was wiped and began a cluster of its own is told so once a minute, not with
// each of the others' attempts.
func TestRefusalIsSaidOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := vnet.NewMem(1)
		b, said := listenAloud(t, network)
		b.SetCluster("blue")
		a := listen(t, network, 1, "red")
		knock := func(times int) {
			for range times {
				var refused *RefusedError
				if _, err := a.Call(t.Context(), 2, b.Advertised(), KindPing, nil); !errors.As(err, &refused) {
					t.Fatalf("%v, want a refusal", err)
				}
				synctest.Wait()
			}
		}
		for minute := 1; minute <= 2; minute++ {
			knock(3)
			if got := strings.Count(said.String(), "start it with cluster.join"); got != minute {
				t.Error(fmt.Sprintf("said %d times in minute %d:\n", got, minute), said.String())
			}
			time.Sleep(refusedAgain) // of the bubble
		}
	})
}

// A node of another build, which tries as often, is told of once a minute too.
func TestOtherBuildIsSaidOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := vnet.NewMem(1)
		b, said := listenAloud(t, network)
		for range 3 {
			c, err := network.Host("n1").Dial(t.Context(), b.Advertised())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte(helloMagic + "\x01")); err != nil {
				t.Fatal(err)
			}
			if w, err := readWelcome(c); err != nil || w.status != statusRefused {
				t.Fatalf("%+v, %v; want a refusal", w, err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if got := strings.Count(said.String(), "another build is not let in"); got != 1 {
			t.Error(fmt.Sprintf("said %d times:\n", got), said.String())
		}
	})
}
