package rpc

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// verifier is an authenticator that a test sees into.
type verifier struct {
	asked []string
	say   auth.Result
	scram auth.ScramCredential
}

func (v *verifier) VerifyPassword(_ context.Context, p *auth.Peer, user string, password []byte) (auth.Result, error) {
	v.asked = append(v.asked, fmt.Sprintf("password %v %s %s", *p, user, password))
	return v.say, nil
}

func (v *verifier) ScramCredential(_ context.Context, p *auth.Peer, user string) (auth.ScramCredential, error) {
	v.asked = append(v.asked, fmt.Sprintf("scram %v %s", *p, user))
	return v.scram, nil
}

func (v *verifier) ValidateToken(_ context.Context, p *auth.Peer, token []byte) (auth.Result, error) {
	v.asked = append(v.asked, fmt.Sprintf("token %v %s", *p, token))
	return v.say, nil
}

func (v *verifier) MapCertificate(_ context.Context, p *auth.Peer, chain [][]byte) (auth.Result, error) {
	v.asked = append(v.asked, fmt.Sprintf("certificate %v %s", *p, chain))
	return v.say, nil
}

func verifiers(v *verifier, features ...string) plugin.Plugin {
	return auth.AuthenticatorPlugin(plugin.Plugin{Name: "v", Version: "1.0.0", Features: features},
		func(context.Context, plugin.Config) (auth.Authenticator, error) { return v, nil })
}

var allFeatures = []string{auth.FeaturePassword, auth.FeatureScram, auth.FeatureToken, auth.FeatureCertificate}

func TestAuthenticator(t *testing.T) {
	peer := &auth.Peer{Listener: "SASL", SecurityProtocol: "SASL_SSL", Mechanism: "SCRAM-SHA-256", Host: "10.0.0.1", Nonce: []byte("nonce")}
	accept := auth.Result{
		Outcome: auth.Accept, PrincipalType: "User", PrincipalName: "alice", Groups: []string{"a", "b"},
		Lifetime: time.Hour, CacheTTL: time.Second, Reason: "fine", Nonce: peer.Nonce,
	}
	v := &verifier{say: accept}
	v.scram = auth.ScramCredential{
		Found: true, Salt: []byte("salt"), Iterations: 4096, StoredKey: make([]byte, 32), ServerKey: make([]byte, 32), Principal: accept,
	}
	v.scram.Principal.Outcome = auth.Reject
	p := verifiers(v, allFeatures...)
	c, _, _ := serve(t, p)
	a := configure[auth.Authenticator](t, c, p, "1")

	password, err := a.VerifyPassword(t.Context(), peer, "alice", []byte("secret"))
	if err != nil || !reflect.DeepEqual(password, accept) {
		t.Errorf("password: %+v, %v", password, err)
	}
	token, err := a.ValidateToken(t.Context(), peer, []byte("token"))
	if err != nil || !reflect.DeepEqual(token, accept) {
		t.Errorf("token: %+v, %v", token, err)
	}
	certificate, err := a.MapCertificate(t.Context(), peer, [][]byte{[]byte("leaf"), []byte("root")})
	if err != nil || !reflect.DeepEqual(certificate, accept) {
		t.Errorf("certificate: %+v, %v", certificate, err)
	}
	scram, err := a.ScramCredential(t.Context(), peer, "alice")
	if err != nil || !reflect.DeepEqual(scram, v.scram) {
		t.Errorf("scram: %+v, %v; want %+v", scram, err, v.scram)
	}
	seen := fmt.Sprint(*peer)
	want := []string{"password " + seen + " alice secret", "token " + seen + " token", "certificate " + seen + " [leaf root]", "scram " + seen + " alice"}
	if !reflect.DeepEqual(v.asked, want) {
		t.Errorf("asked %q, want %q", v.asked, want)
	}
}

// TestAuthenticatorFeatures asks for nothing that the plugin did not name.
func TestAuthenticatorFeatures(t *testing.T) {
	v := &verifier{say: auth.Result{Outcome: auth.Accept, PrincipalType: "User", PrincipalName: "eve"}}
	p := verifiers(v)
	c, _, _ := serve(t, p)
	a := configure[auth.Authenticator](t, c, p, "1")
	_, e1 := a.VerifyPassword(t.Context(), &auth.Peer{}, "u", nil)
	_, e2 := a.ScramCredential(t.Context(), &auth.Peer{}, "u")
	_, e3 := a.ValidateToken(t.Context(), &auth.Peer{}, nil)
	_, e4 := a.MapCertificate(t.Context(), &auth.Peer{}, nil)
	for i, err := range []error{e1, e2, e3, e4} {
		if !errors.Is(err, auth.ErrUnsupported) {
			t.Errorf("%d: %v, want ErrUnsupported", i, err)
		}
	}
	if len(v.asked) != 0 {
		t.Errorf("asked %q", v.asked)
	}
}

// TestLongCredentialsReject refuses what no plugin may be asked.
func TestLongCredentialsReject(t *testing.T) {
	v := &verifier{say: auth.Result{Outcome: auth.Accept, PrincipalType: "User", PrincipalName: "eve"}}
	p := verifiers(v, allFeatures...)
	c, _, _ := serve(t, p)
	a := configure[auth.Authenticator](t, c, p, "1")
	long := make([]byte, auth.MaxSecretBytes+1)
	for name, r := range map[string]func() (auth.Result, error){
		"password": func() (auth.Result, error) { return a.VerifyPassword(t.Context(), &auth.Peer{}, "u", long) },
		"user": func() (auth.Result, error) {
			return a.VerifyPassword(t.Context(), &auth.Peer{}, strings.Repeat("u", auth.MaxNameBytes+1), nil)
		},
		"no text": func() (auth.Result, error) { return a.VerifyPassword(t.Context(), &auth.Peer{}, "\xff", nil) },
		"token":   func() (auth.Result, error) { return a.ValidateToken(t.Context(), &auth.Peer{}, long) },
		"chain": func() (auth.Result, error) {
			return a.MapCertificate(t.Context(), &auth.Peer{}, make([][]byte, auth.MaxChain+1))
		},
	} {
		if got, err := r(); err != nil || got.Outcome != auth.Reject {
			t.Errorf("%s: %+v, %v; want a rejection", name, got, err)
		}
	}
	if s, err := a.ScramCredential(t.Context(), &auth.Peer{}, "\xff"); err != nil || s.Found {
		t.Errorf("scram: %+v, %v", s, err)
	}
	if len(v.asked) != 0 {
		t.Errorf("asked %q", v.asked)
	}
}

// acceptance is a complete one.
func acceptance() *pluginpb.AuthResult {
	return &pluginpb.AuthResult{Outcome: pluginpb.Outcome_OUTCOME_ACCEPT, PrincipalType: "User", PrincipalName: "alice", Nonce: []byte("n")}
}

func TestBadResults(t *testing.T) {
	peer := &auth.Peer{Nonce: []byte("n")}
	for name, change := range map[string]func(*pluginpb.AuthResult){
		"unknown outcome": func(m *pluginpb.AuthResult) { m.Outcome = 7 },
		"no nonce":        func(m *pluginpb.AuthResult) { m.Nonce = nil },
		"another nonce":   func(m *pluginpb.AuthResult) { m.Nonce = []byte("m") },
		"no type":         func(m *pluginpb.AuthResult) { m.PrincipalType = "" },
		"no name":         func(m *pluginpb.AuthResult) { m.PrincipalName = "" },
		"long type":       func(m *pluginpb.AuthResult) { m.PrincipalType = strings.Repeat("t", auth.MaxTypeBytes+1) },
		"long name":       func(m *pluginpb.AuthResult) { m.PrincipalName = strings.Repeat("n", auth.MaxNameBytes+1) },
		"name no text":    func(m *pluginpb.AuthResult) { m.PrincipalName = "\xff" },
		"many groups":     func(m *pluginpb.AuthResult) { m.Groups = make([]string, auth.MaxGroups+1) },
		"empty group":     func(m *pluginpb.AuthResult) { m.Groups = []string{""} },
		"long group":      func(m *pluginpb.AuthResult) { m.Groups = []string{strings.Repeat("g", auth.MaxGroupBytes+1)} },
		"negative life":   func(m *pluginpb.AuthResult) { m.LifetimeMs = -1 },
	} {
		m := acceptance()
		change(m)
		if r, err := result(peer, m); !errors.Is(err, plugin.ErrBadAnswer) || r.Outcome != auth.Reject {
			t.Errorf("%s: %+v, %v; want ErrBadAnswer", name, r, err)
		}
	}
	if r, err := result(peer, nil); err != nil || r.Outcome != auth.Reject {
		t.Errorf("no result: %+v, %v; want a rejection", r, err)
	}
}

func TestAcceptanceIsClamped(t *testing.T) {
	m := acceptance()
	m.CacheTtlMs, m.Reason = 1<<31, strings.Repeat("r", 2000)+"\n"
	r, err := result(&auth.Peer{Nonce: []byte("n")}, m)
	if err != nil || r.CacheTTL != auth.MaxAcceptTTL || len(r.Reason) != auth.MaxReasonBytes {
		t.Errorf("%+v, %v", r, err)
	}
	m.LifetimeMs = 10
	if r, _ = result(&auth.Peer{Nonce: []byte("n")}, m); r.CacheTTL != 10*time.Millisecond {
		t.Errorf("remembered for %v, want no longer than the credential lives", r.CacheTTL)
	}
	m.LifetimeMs = 1 << 62
	if r, _ = result(&auth.Peer{Nonce: []byte("n")}, m); r.Lifetime <= 0 {
		t.Errorf("a lifetime overflowed to %v", r.Lifetime)
	}
}

func TestBadScramCredentials(t *testing.T) {
	peer := &auth.Peer{Mechanism: "SCRAM-SHA-256", Nonce: []byte("n")}
	good := func() *pluginpb.ScramCredentialResponse {
		return &pluginpb.ScramCredentialResponse{
			Found: true, Salt: []byte{1}, Iterations: 4096, StoredKey: make([]byte, 32), ServerKey: make([]byte, 32), Principal: acceptance(),
		}
	}
	if _, err := scramCredential(peer, good()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*pluginpb.ScramCredentialResponse){
		"no salt":         func(m *pluginpb.ScramCredentialResponse) { m.Salt = nil },
		"few iterations":  func(m *pluginpb.ScramCredentialResponse) { m.Iterations = 4095 },
		"many iterations": func(m *pluginpb.ScramCredentialResponse) { m.Iterations = 1 << 30 },
		"other hash":      func(m *pluginpb.ScramCredentialResponse) { m.StoredKey = make([]byte, 64) },
		"no server key":   func(m *pluginpb.ScramCredentialResponse) { m.ServerKey = nil },
		"no principal":    func(m *pluginpb.ScramCredentialResponse) { m.Principal = nil },
	} {
		m := good()
		change(m)
		if got, err := scramCredential(peer, m); !errors.Is(err, plugin.ErrBadAnswer) || got.Found {
			t.Errorf("%s: %+v, %v; want ErrBadAnswer", name, got, err)
		}
	}
}

// FuzzAuthResult reads any bytes as an answer: nothing is accepted that is not complete.
func FuzzAuthResult(f *testing.F) {
	for _, m := range []*pluginpb.AuthResult{acceptance(), {}, {Outcome: 2}} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	peer := &auth.Peer{Nonce: []byte("n")}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m pluginpb.AuthResult
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		r, err := result(peer, &m)
		if r.Outcome != auth.Accept {
			return
		}
		if err != nil || string(r.Nonce) != "n" || r.PrincipalName == "" || r.PrincipalType == "" || r.CacheTTL > auth.MaxAcceptTTL || r.Lifetime < 0 {
			t.Fatalf("accepted %+v, %v", r, err)
		}
		again, err := resultMessage(r)
		if err != nil {
			t.Fatal(err)
		}
		if r2, err := result(peer, again); err != nil || !reflect.DeepEqual(r, r2) {
			t.Fatalf("%+v became %+v, %v", r, r2, err)
		}
	})
}
