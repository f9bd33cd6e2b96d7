package handshake

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	// CookieKey and CookieValue in a process's environment say that a broker started
	// it. They are no secret: without them a plugin tells a person what it is.
	CookieKey   = "MORTISE_PLUGIN"
	CookieValue = "c0a1e5ce-plugin-of-mortise"
	// ProtocolVersion is the number of the proto package, mortise.plugin.v1.
	ProtocolVersion = 1
	// CertificateKey in the environment is the broker's certificate as PEM.
	CertificateKey = "PLUGIN_CLIENT_CERT"
	// MemoryKey in the environment is the process's limit of memory in bytes, so that
	// it can collect garbage before it meets the limit.
	MemoryKey = "MORTISE_PLUGIN_MEMORY"
)

// MaxLineBytes bounds the line, whose longest part is a certificate.
const MaxLineBytes = 8 << 10

// goPlugin is go-plugin's CoreProtocolVersion.
const goPlugin = 1

// Errors of a line. Each is an author's or an attacker's doing, and final.
var (
	ErrNoLine      = errors.New("the first line on standard output is no handshake")
	ErrVersion     = errors.New("the plugin speaks another version of the protocol")
	ErrAddress     = errors.New("the plugin's address is not a socket in its own directory")
	ErrNoTLS       = errors.New("the plugin ignores " + CertificateKey + ": it would talk to anybody")
	ErrCertificate = errors.New("the plugin's certificate")
)

// Line is what a plugin's process prints first.
type Line struct {
	Socket      string // path of a unix socket
	Certificate []byte // DER
}

// String is the line as it is printed, without its end.
func (l Line) String() string {
	return fmt.Sprintf("%d|%d|unix|%s|grpc|%s", goPlugin, ProtocolVersion, l.Socket, base64.RawStdEncoding.EncodeToString(l.Certificate))
}

// Parse reads a line; the socket must be directly in dir.
func Parse(text, dir string) (Line, error) {
	if len(text) > MaxLineBytes {
		return Line{}, fmt.Errorf("%w: %d bytes", ErrNoLine, len(text))
	}
	parts := strings.Split(strings.TrimSpace(text), "|")
	if len(parts) < 5 || len(parts) > 7 || parts[0] != strconv.Itoa(goPlugin) {
		return Line{}, fmt.Errorf("%w: %q. Does something print before the plugin serves?", ErrNoLine, short(text))
	}
	switch {
	case parts[1] != strconv.Itoa(ProtocolVersion):
		return Line{}, fmt.Errorf("%w: %q, want %d", ErrVersion, short(parts[1]), ProtocolVersion)
	case parts[4] != "grpc":
		return Line{}, fmt.Errorf("%w: %q, want grpc", ErrVersion, short(parts[4]))
	case parts[2] != "unix" || filepath.Clean(parts[3]) != parts[3] || filepath.Dir(parts[3]) != dir:
		return Line{}, fmt.Errorf("%w: %q %q", ErrAddress, short(parts[2]), short(parts[3]))
	case len(parts) == 5 || parts[5] == "":
		return Line{}, ErrNoTLS
	}
	der, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil {
		return Line{}, fmt.Errorf("%w: %w", ErrCertificate, err)
	}
	if _, err := x509.ParseCertificate(der); err != nil {
		return Line{}, fmt.Errorf("%w: %w", ErrCertificate, err)
	}
	return Line{Socket: parts[3], Certificate: der}, nil
}

// short is text for an error.
func short(text string) string {
	const most = 200
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
