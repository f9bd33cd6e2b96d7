package handshake

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

func identity(t testing.TB) *Identity {
	t.Helper()
	i, err := NewIdentity(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestLine(t *testing.T) {
	l := Line{Socket: "/run/p/s", Certificate: identity(t).Certificate()}
	got, err := Parse(l.String(), "/run/p")
	if err != nil || got.Socket != l.Socket || string(got.Certificate) != string(l.Certificate) {
		t.Errorf("%+v, %v", got, err)
	}
	certificate := base64.RawStdEncoding.EncodeToString(l.Certificate)
	for text, want := range map[string]error{
		"":                                                ErrNoLine,
		"hello":                                           ErrNoLine,
		strings.Repeat("|", 5):                            ErrNoLine,
		strings.Repeat("x", MaxLineBytes+1):               ErrNoLine,
		"2|1|unix|/run/p/s|grpc|":                         ErrNoLine,
		"1|1|unix|/run/p/s|grpc|x|true|x":                 ErrNoLine,
		"1|9|unix|/run/p/s|grpc|x":                        ErrVersion,
		"1|1|unix|/run/p/s|netrpc|x":                      ErrVersion,
		"1|1|tcp|127.0.0.1:1|grpc|x":                      ErrAddress,
		"1|1|unix|/run/q/s|grpc|x":                        ErrAddress,
		"1|1|unix|/run/p/../s|grpc|x":                     ErrAddress,
		"1|1|unix|/run/p/x/s|grpc|x":                      ErrAddress,
		"1|1|unix||grpc|x":                                ErrAddress,
		"1|1|unix|/run/p/s|grpc":                          ErrNoTLS,
		"1|1|unix|/run/p/s|grpc|":                         ErrNoTLS,
		"1|1|unix|/run/p/s|grpc|" + "*":                   ErrCertificate,
		"1|1|unix|/run/p/s|grpc|AAAA":                     ErrCertificate,
		"1|1|unix|/run/p/s|grpc|" + certificate:           nil,
		"1|1|unix|/run/p/s|grpc|" + certificate + "|true": nil,
	} {
		if _, err := Parse(text, "/run/p"); !errors.Is(err, want) {
			t.Errorf("%.60q: %v, want %v", text, err, want)
		}
	}
}

// FuzzParse reads any line: refused, or a socket in the directory and a certificate.
func FuzzParse(f *testing.F) {
	f.Add(Line{Socket: "/d/s", Certificate: identity(f).Certificate()}.String())
	f.Add("1|1|unix|/d/s|grpc|AAAA|true")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse(text, "/d")
		if err != nil {
			return
		}
		if !strings.HasPrefix(l.Socket, "/d/") || strings.Contains(l.Socket[3:], "/") {
			t.Fatalf("socket %q", l.Socket)
		}
		if _, err := x509.ParseCertificate(l.Certificate); err != nil {
			t.Fatal(err)
		}
	})
}

// shake runs a TLS handshake and says how both ends took it.
func shake(t testing.TB, asker, answerer *tls.Config) (error, error) {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	answered := make(chan error, 1)
	go func() {
		defer b.Close()
		server := tls.Server(b, answerer)
		err := server.Handshake()
		if err == nil {
			_, err = server.Write([]byte("x"))
		}
		answered <- err
	}()
	client := tls.Client(a, asker)
	_, err := client.Read(make([]byte, 1))
	return err, <-answered
}

// TestOnlyEachOther lets the two ends talk, and nobody else with either.
func TestOnlyEachOther(t *testing.T) {
	broker, process, other := identity(t), identity(t), identity(t)
	trusting := func(i, whom *Identity) *tls.Config {
		c := i.Asker()
		certificate, err := x509.ParseCertificate(whom.Certificate())
		if err != nil {
			t.Fatal(err)
		}
		c.RootCAs.AddCert(certificate)
		return c
	}
	answerer, err := process.Answerer(broker.PEM())
	if err != nil {
		t.Fatal(err)
	}
	if e1, e2 := shake(t, trusting(broker, process), answerer); e1 != nil || e2 != nil {
		t.Errorf("the two: %v, %v", e1, e2)
	}
	if _, e := shake(t, trusting(other, process), answerer); e == nil {
		t.Error("the process talks to a stranger")
	}
	if e, _ := shake(t, trusting(broker, other), answerer); e == nil {
		t.Error("the broker talks to a stranger")
	}
	if e, _ := shake(t, broker.Asker(), answerer); e == nil {
		t.Error("the broker talks before it knows to whom")
	}
	if _, err := process.Answerer("nothing"); err == nil {
		t.Error("an environment without a certificate is taken")
	}
}

// BenchmarkTLS is what a start pays for TLS: two identities, and one handshake.
func BenchmarkTLS(b *testing.B) {
	b.Run("identities", func(b *testing.B) {
		for b.Loop() {
			identity(b)
			identity(b)
		}
	})
	broker, process := identity(b), identity(b)
	answerer, err := process.Answerer(broker.PEM())
	if err != nil {
		b.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(process.Certificate())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("handshake", func(b *testing.B) {
		for b.Loop() {
			asker := broker.Asker()
			asker.RootCAs.AddCert(certificate)
			if e1, e2 := shake(b, asker, answerer); e1 != nil || e2 != nil {
				b.Fatal(e1, e2)
			}
		}
	})
}
