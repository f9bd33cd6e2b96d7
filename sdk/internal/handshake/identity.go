package handshake

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// host is the name in both certificates; nothing resolves it.
const host = "localhost"

// The life of a certificate: it is made for one connection, but a process may serve
// for as long as its broker runs, and clocks may be set back.
const (
	validBefore = time.Hour
	validFor    = 30 * 365 * 24 * time.Hour
)

// Identity is one end's certificate and key, made for one start of one process.
type Identity struct{ certificate tls.Certificate }

// NewIdentity makes one: about 0.1 ms.
func NewIdentity(now time.Time) (*Identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: host, Organization: []string{"Mortise"}},
		DNSNames:     []string{host},
		NotBefore:    now.Add(-validBefore),
		NotAfter:     now.Add(validFor),
		// It signs itself, and each end takes the other's as its only authority.
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &Identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, nil
}

// Certificate is the DER of it.
func (i *Identity) Certificate() []byte { return i.certificate.Certificate[0] }

// PEM is the certificate for the environment.
func (i *Identity) PEM() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate()}))
}

// Asker is the TLS of the end that dials. It trusts nobody until the handshake's line
// names the other end (go-plugin then sets RootCAs).
func (i *Identity) Asker() *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{i.certificate},
		RootCAs:      x509.NewCertPool(),
		ServerName:   host,
		MinVersion:   tls.VersionTLS13,
	}
}

// Answerer is the TLS of the end that listens: it talks to the holder of the one
// certificate only.
func (i *Identity) Answerer(askerPEM string) (*tls.Config, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(askerPEM)) {
		return nil, fmt.Errorf("%s holds no certificate", CertificateKey)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{i.certificate},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    pool,
		MinVersion:   tls.VersionTLS13,
	}, nil
}
