package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// What an Authenticator can verify: features of its plugin.
const (
	FeaturePassword    = "password"    // SASL PLAIN
	FeatureScram       = "scram"       // SASL SCRAM-SHA-256 and -512
	FeatureToken       = "token"       // SASL OAUTHBEARER
	FeatureCertificate = "certificate" // TLS client certificates
)

// ErrUnsupported is what the methods of a feature that a plugin lacks return. It is a
// plugin.ErrUnsupported.
var ErrUnsupported = fmt.Errorf("this kind of credential: %w", plugin.ErrUnsupported)

// MaxAcceptTTL bounds for how long a broker remembers that a credential was accepted.
const MaxAcceptTTL = 60 * time.Second

// Outcome of a verification.
type Outcome uint8

// The outcomes. The zero value rejects.
const (
	Reject Outcome = iota
	Accept
	Unavailable // the backend is down: the client shall try again
)

// Peer is where a client comes from.
type Peer struct {
	Listener         string
	SecurityProtocol string // PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
	Mechanism        string // of SASL; empty without
	Host             string // the client's IP address
	Nonce            []byte // to be echoed in the Result
}

// Result says who the client is, if it is accepted.
type Result struct {
	Outcome       Outcome
	PrincipalType string // User, unless there is a reason
	PrincipalName string
	Groups        []string      // what an Authorizer is told besides the principal
	Lifetime      time.Duration // until the client must authenticate anew; 0: no limit of the plugin's
	CacheTTL      time.Duration // how long Accept may be remembered; at most MaxAcceptTTL
	Reason        string        // for the broker's log, never for the client
	Nonce         []byte        // as in the question
}

// Accepted is the Result that says that the client is the user of this name.
func (p *Peer) Accepted(user string) Result {
	return Result{Outcome: Accept, PrincipalType: UserType, PrincipalName: user, Nonce: p.Nonce}
}

// ScramCredential is what a SCRAM server needs to know about one user (RFC 5802).
type ScramCredential struct {
	Found      bool // false: no such user
	Salt       []byte
	Iterations int32
	StoredKey  []byte
	ServerKey  []byte
	Principal  Result // Outcome is not used: the core decides it
}

// Authenticator says who a client is. Embed NoCredentials for the methods that a
// plugin does not have. See the package's obligations.
type Authenticator interface {
	// VerifyPassword checks a user's password (SASL PLAIN).
	VerifyPassword(ctx context.Context, p *Peer, user string, password []byte) (Result, error)
	// ScramCredential looks up a user; mechanism is in the peer. The core does the
	// arithmetic.
	ScramCredential(ctx context.Context, p *Peer, user string) (ScramCredential, error)
	// ValidateToken checks a bearer token (SASL OAUTHBEARER).
	ValidateToken(ctx context.Context, p *Peer, token []byte) (Result, error)
	// MapCertificate names the owner of a chain (DER, leaf first) that the core has
	// verified.
	MapCertificate(ctx context.Context, p *Peer, chain [][]byte) (Result, error)
}

// NoCredentials is an Authenticator that can verify nothing.
type NoCredentials struct{}

// VerifyPassword implements Authenticator.
func (NoCredentials) VerifyPassword(context.Context, *Peer, string, []byte) (Result, error) {
	return Result{}, ErrUnsupported
}

// ScramCredential implements Authenticator.
func (NoCredentials) ScramCredential(context.Context, *Peer, string) (ScramCredential, error) {
	return ScramCredential{}, ErrUnsupported
}

// ValidateToken implements Authenticator.
func (NoCredentials) ValidateToken(context.Context, *Peer, []byte) (Result, error) {
	return Result{}, ErrUnsupported
}

// MapCertificate implements Authenticator.
func (NoCredentials) MapCertificate(context.Context, *Peer, [][]byte) (Result, error) {
	return Result{}, ErrUnsupported
}

// AuthenticatorPlugin makes a plugin of p, whose New is replaced by make.
func AuthenticatorPlugin(p plugin.Plugin, make func(context.Context, plugin.Config) (Authenticator, error)) plugin.Plugin {
	p.Kind, p.New = plugin.Authenticator, plugin.Typed(make)
	return p
}
