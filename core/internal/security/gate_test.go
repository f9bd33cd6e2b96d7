package security

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
)

// backend answers as a test says, and counts the questions.
type backend struct {
	auth.NoCredentials
	asked  int
	answer func(p *auth.Peer, user string, password []byte) (auth.Result, error)
}

func (b *backend) VerifyPassword(_ context.Context, p *auth.Peer, user string, password []byte) (auth.Result, error) {
	b.asked++
	return b.answer(p, user, password)
}

// honest knows alice.
func honest(p *auth.Peer, user string, password []byte) (auth.Result, error) {
	if user != "alice" || string(password) != "secret" {
		return auth.Result{Nonce: p.Nonce}, nil
	}
	return auth.Result{Outcome: auth.Accept, PrincipalType: "User", PrincipalName: user, Groups: []string{"b", "a"},
		CacheTTL: time.Hour, Nonce: p.Nonce}, nil
}

// gateOf is a gate with one listener, SASL, whose authenticator answers so.
func gateOf(b *backend, maxReauth time.Duration) *Gate {
	return NewGate(GateOptions{Listeners: []Listener{{Name: "SASL", SecurityProtocol: "SASL_PLAINTEXT", Mechanisms: []string{Plain}, Authenticator: b}},
		Reserved:  func(principal string) bool { return principal == "User:root" },
		MaxReauth: func() time.Duration { return maxReauth }, Clock: clock.System{}})
}

func connection(listener string) *wire.ConnInfo {
	return &wire.ConnInfo{ID: 1, Listener: listener, Remote: netip.MustParseAddrPort("192.0.2.1:99")}
}

// login is the whole exchange of a client.
func login(t *testing.T, g *Gate, c *wire.ConnInfo, token string) Outcome {
	t.Helper()
	if h := g.Handshake(c, Plain, 1); h.Code != kafka.None || h.Close != nil || h.Drop != nil {
		t.Fatalf("handshake: %+v", h)
	}
	return g.Authenticate(t.Context(), c, []byte(token))
}

func TestPlain(t *testing.T) {
	for _, c := range []struct {
		says, token, refusal string
	}{
		{"right", "\x00alice\x00secret", ""},
		{"right, with its own name as authorization id", "alice\x00alice\x00secret", ""},
		{"a wrong password", "\x00alice\x00guess", wrongPassword},
		{"an unknown user", "\x00bob\x00secret", wrongPassword},
		{"two parts", "alice\x00secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"},
		{"four parts", "\x00alice\x00secret\x00", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"},
		{"nothing", "", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"},
		{"no user", "\x00\x00secret", "Authentication failed: username not specified"},
		{"no password", "\x00alice\x00", "Authentication failed: password not specified"},
		{"another authorization id", "bob\x00alice\x00secret", "Authentication failed: Client requested an authorization id that is different from username"},
	} {
		t.Run(c.says, func(t *testing.T) {
			conn := connection("SASL")
			out := login(t, gateOf(&backend{answer: honest}, 0), conn, c.token)
			if c.refusal != "" {
				if out.Code != kafka.ErrSaslAuthenticationFailed || out.Message != c.refusal || !errors.Is(out.Close, ErrRefused) || conn.Identity() != nil {
					t.Fatalf("%+v with identity %v, want the refusal %q", out, conn.Identity(), c.refusal)
				}
				return
			}
			if i := conn.Identity(); out.Code != kafka.None || i == nil || i.Principal != "User:alice" || strings.Join(i.Groups, " ") != "a b" {
				t.Fatalf("%+v with identity %+v", out, i)
			}
		})
	}
}

// Nothing that a plugin says or fails to say lets somebody in, or tells a client
// that its password is wrong.
func TestBadAnswersLetNobodyIn(t *testing.T) {
	accept := auth.Result{Outcome: auth.Accept, PrincipalType: "User", PrincipalName: "alice"}
	with := func(change func(r *auth.Result)) func(*auth.Peer, string, []byte) (auth.Result, error) {
		return func(p *auth.Peer, _ string, _ []byte) (auth.Result, error) {
			r := accept
			r.Nonce = p.Nonce
			change(&r)
			return r, nil
		}
	}
	for says, answer := range map[string]func(*auth.Peer, string, []byte) (auth.Result, error){
		"an error":               func(*auth.Peer, string, []byte) (auth.Result, error) { return accept, errors.New("down") },
		"unavailable":            with(func(r *auth.Result) { r.Outcome = auth.Unavailable }),
		"an unknown outcome":     with(func(r *auth.Result) { r.Outcome = 9 }),
		"no nonce":               with(func(r *auth.Result) { r.Nonce = nil }),
		"another nonce":          with(func(r *auth.Result) { r.Nonce = make([]byte, nonceSize) }),
		"a super user":           with(func(r *auth.Result) { r.PrincipalName = "root" }),
		"anonymous":              with(func(r *auth.Result) { r.PrincipalName = "ANONYMOUS" }),
		"a group as principal":   with(func(r *auth.Result) { r.PrincipalType = "Group" }),
		"everybody":              with(func(r *auth.Result) { r.PrincipalName = "*" }),
		"no name":                with(func(r *auth.Result) { r.PrincipalName = "" }),
		"no type":                with(func(r *auth.Result) { r.PrincipalType = "" }),
		"a type with a colon":    with(func(r *auth.Result) { r.PrincipalType = "User:x" }),
		"a name out of bounds":   with(func(r *auth.Result) { r.PrincipalName = strings.Repeat("x", nameMax+1) }),
		"a name that is no text": with(func(r *auth.Result) { r.PrincipalName = "\xff" }),
		"an empty group":         with(func(r *auth.Result) { r.Groups = []string{""} }),
		"too many groups":        with(func(r *auth.Result) { r.Groups = strings.Split(strings.Repeat("g,", groupsMax)+"g", ",") }),
		"an expired credential":  with(func(r *auth.Result) { r.Lifetime = -1 }),
		"one that is expiring":   with(func(r *auth.Result) { r.Lifetime = time.Millisecond - 1 }),
	} {
		t.Run(says, func(t *testing.T) {
			conn := connection("SASL")
			out := login(t, gateOf(&backend{answer: answer}, 0), conn, "\x00alice\x00secret")
			if !errors.Is(out.Drop, ErrUnavailable) || conn.Identity() != nil {
				t.Fatalf("%+v with identity %v, want a closed connection", out, conn.Identity())
			}
		})
	}
}

func TestOrderOfTheExchange(t *testing.T) {
	g := gateOf(&backend{answer: honest}, 0)
	c := connection("SASL")
	if out := g.Authenticate(t.Context(), c, nil); !errors.Is(out.Drop, ErrOrder) {
		t.Errorf("a token without a handshake: %+v", out)
	}
	if h := g.Handshake(c, "GSSAPI", 1); h.Code != kafka.ErrUnsupportedSaslMechanism || h.Mechanisms[0] != Plain || !errors.Is(h.Close, ErrMechanism) {
		t.Errorf("an unknown mechanism: %+v", h)
	}
	if h := g.Handshake(c, Plain, 1); h.Drop == nil {
		t.Errorf("a handshake after a refusal: %+v", h)
	}
	c = connection("SASL")
	login(t, g, c, "\x00alice\x00secret")
	if h := g.Handshake(c, Plain, 1); h.Code != kafka.ErrIllegalSaslState || h.Close != nil {
		t.Errorf("a handshake after authentication: %+v", h)
	}
	if out := g.Authenticate(t.Context(), c, nil); out.Code != kafka.ErrIllegalSaslState || out.Message == "" {
		t.Errorf("a token after authentication: %+v", out)
	}
	open := connection("PLAINTEXT")
	if h := g.Handshake(open, Plain, 1); h.Code != kafka.ErrIllegalSaslState {
		t.Errorf("a handshake on a listener without SASL: %+v", h)
	}
	if g.First("PLAINTEXT") == nil || g.First("SASL") != nil {
		t.Error("the listener with SASL, and only it, must know nobody at first")
	}
}

// Old clients send bare tokens after SaslHandshake v0.
func TestBareTokens(t *testing.T) {
	g := gateOf(&backend{answer: honest}, 0)
	c := connection("SASL")
	g.Handshake(c, Plain, 0)
	if !c.ExpectsTokens() {
		t.Fatal("no token is expected after a handshake v0")
	}
	if out := g.Authenticate(t.Context(), c, []byte("\x00alice\x00secret")); out != (Outcome{}) || c.ExpectsTokens() {
		t.Errorf("%+v, tokens expected: %v", out, c.ExpectsTokens())
	}
	c = connection("SASL")
	g.Handshake(c, Plain, 0)
	if out := g.Authenticate(t.Context(), c, []byte("\x00alice\x00guess")); !errors.Is(out.Drop, ErrRefused) {
		t.Errorf("a wrong bare token: %+v, want a closed connection: there is no place for an error", out)
	}
}

func TestAcceptanceIsRememberedForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{answer: honest}
		g := gateOf(b, 0)
		generation := uint64(1)
		g.listeners["SASL"].Generation = func() uint64 { return generation }
		try := func(token string, asked int) {
			t.Helper()
			login(t, g, connection("SASL"), token)
			if b.asked != asked {
				t.Fatalf("the authenticator was asked %d times, want %d", b.asked, asked)
			}
		}
		try("\x00alice\x00secret", 1)
		time.Sleep(auth.MaxAcceptTTL - time.Second)
		try("\x00alice\x00secret", 1)
		try("\x00alice\x00other", 2)
		try("\x00alice\x00other", 3) // refusals are not remembered
		time.Sleep(2 * time.Second)
		try("\x00alice\x00secret", 4)
		generation++ // another authenticator, which may know better
		try("\x00alice\x00secret", 5)
	})
}

func TestAcceptedIsBounded(t *testing.T) {
	a := newAccepted()
	for n := range acceptedMax + 100 {
		a.put(a.key("SASL", 0, plainCredential{user: string(rune(n))}), auth.Result{CacheTTL: time.Minute}, time.Unix(int64(n), 0))
	}
	if len(a.entries) > acceptedMax {
		t.Errorf("%d acceptances are remembered, want at most %d", len(a.entries), acceptedMax)
	}
}

// A session ends with the credential or connections.max.reauth.ms, whichever comes
// first; the client authenticates anew as the same principal.
func TestAuthenticationAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		who := "alice"
		b := &backend{answer: func(p *auth.Peer, _ string, _ []byte) (auth.Result, error) {
			return auth.Result{Outcome: auth.Accept, PrincipalType: "User", PrincipalName: who, Lifetime: 30 * time.Second, Nonce: p.Nonce}, nil
		}}
		g := gateOf(b, time.Minute)
		c := connection("SASL")
		if out := login(t, g, c, "\x00alice\x00secret"); out.Lifetime != 30*time.Second {
			t.Fatalf("%+v, want the credential's 30 s", out)
		}
		ends := c.Identity().Until
		time.Sleep(20 * time.Second)
		if out := login(t, g, c, "\x00alice\x00secret"); out.Code != kafka.None || !c.Identity().Until.After(ends) {
			t.Fatalf("%+v, the session ends at %v as before", out, c.Identity().Until)
		}
		who = "bob"
		out := login(t, g, c, "\x00bob\x00secret")
		if out.Code != kafka.ErrSaslAuthenticationFailed || !strings.Contains(out.Message, "Cannot change principals") || c.Identity().Principal != "User:alice" {
			t.Fatalf("%+v for %s, want a refusal of another principal", out, c.Identity().Principal)
		}
	})
}

// A session that only the credential ends can be begun anew too, and no remembered
// credential makes one without an end.
func TestSessionThatTheCredentialEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{answer: func(p *auth.Peer, user string, _ []byte) (auth.Result, error) {
			r := p.Accepted(user)
			r.Lifetime, r.CacheTTL = 1999*time.Microsecond, time.Hour
			return r, nil
		}}
		g := gateOf(b, 0)
		c := connection("SASL")
		began := time.Now()
		for range 20 { // with and without the authenticator
			if out := login(t, g, c, "\x00alice\x00secret"); out.Code != kafka.None || out.Drop != nil {
				t.Fatalf("%+v", out)
			}
			if left := time.Until(c.Identity().Until); left <= 0 || left > time.Millisecond {
				t.Fatalf("after %v the session lasts %v longer, want up to 1 ms", time.Since(began), left)
			}
			time.Sleep(300 * time.Microsecond)
		}
		if b.asked < 2 || b.asked > 10 {
			t.Errorf("the authenticator was asked %d times of 20", b.asked)
		}
	})
}

func FuzzPlainToken(f *testing.F) {
	f.Add([]byte("\x00alice\x00secret"))
	f.Add([]byte("a\x00a\x00b"))
	f.Fuzz(func(t *testing.T, token []byte) {
		c, refusal := parsePlain(token)
		if refusal == "" && (c.user == "" || len(c.password) == 0) {
			t.Errorf("token %q is taken without user or password", token)
		}
	})
}
