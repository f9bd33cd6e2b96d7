package security

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/sdk/auth"
)

// A plugin that gives no answers is told of, and not once for every client (PLUG-06).
func TestSilentPluginsAreToldOfNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		log := slog.New(slog.NewTextHandler(&text, nil))
		down := errors.New("no answer within 100 ms")
		b := &backend{answer: func(*auth.Peer, string, []byte) (auth.Result, error) { return auth.Result{}, down }}
		g := gateOf(b, 0)
		g.opt.Log = log
		s := newStub(nil)
		s.err = down
		a := NewAuthorizer(AuthorizerOptions{Chain: []Link{{Name: "x", Authorizer: s, Has: features()}},
			SuperUser: func(string) bool { return false }, Clock: clock.System{}, Log: log})
		defer a.Close()
		ask := func() {
			login(t, g, connection("SASL"), "\x00alice\x00secret")
			a.read(client("alice"), "a")
			a.AllowedAll(client("alice"), 1, auth.OpRead, auth.Topic, []string{"b", "c"})
			a.AllowedByType(client("alice"), 1, auth.OpRead, auth.Topic)
		}
		for range 100 {
			ask()
		}
		time.Sleep(complainEvery)
		ask()
		for what, want := range map[string]int{"authenticator gave no answer": 2, "authorizer gave no answer": 2, "untold=99": 1, "untold=299": 1, down.Error(): 4} {
			if got := strings.Count(text.String(), what); got != want {
				t.Errorf("%q is told %d times, want %d:\n%s", what, got, want, text.String())
			}
		}
	})
}

// An authorizer that is closed complains of nothing: its questions end with it.
func TestWhoIsClosedComplainsOfNothing(t *testing.T) {
	var text strings.Builder
	s := newStub(nil)
	s.err = context.Canceled
	a := NewAuthorizer(AuthorizerOptions{Chain: []Link{{Name: "x", Authorizer: s, Has: features()}},
		SuperUser: func(string) bool { return false }, Clock: clock.System{}, Log: slog.New(slog.NewTextHandler(&text, nil))})
	a.Close()
	if a.read(client("alice"), "a") != Unknown || text.Len() > 0 {
		t.Errorf("it says %q", text.String())
	}
}
