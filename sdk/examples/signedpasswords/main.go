package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mortisemq/mortise/sdk"
	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

type config struct {
	SecretFile string `json:"secret_file"`
}

func main() { sdk.Serve(Plugin()) }

// Plugin is what this program serves.
func Plugin() plugin.Plugin {
	return auth.AuthenticatorPlugin(plugin.Plugin{
		Name: "signed", Version: "1.0.0", Summary: "Passwords that are signed and expire.",
		Features: []string{auth.FeaturePassword},
	}, newSigned)
}

// signed checks passwords of the form SECONDS.HEX.
type signed struct {
	auth.NoCredentials
	secret []byte
}

func newSigned(_ context.Context, c plugin.Config) (auth.Authenticator, error) {
	var settings config
	if err := c.Decode(&settings); err != nil {
		return nil, err
	}
	secret, err := os.ReadFile(settings.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("secret_file: %w", err)
	}
	if secret = bytes.TrimSpace(secret); len(secret) == 0 {
		return nil, errors.New("secret_file is empty")
	}
	return &signed{secret: secret}, nil
}

// VerifyPassword implements auth.Authenticator.
func (s *signed) VerifyPassword(_ context.Context, p *auth.Peer, user string, password []byte) (auth.Result, error) {
	ends, signature, _ := strings.Cut(string(password), ".")
	seconds, err := strconv.ParseInt(ends, 10, 64)
	if err != nil {
		return auth.Result{Reason: "not of the form SECONDS.HEX"}, nil
	}
	mac := hmac.New(sha256.New, s.secret)
	fmt.Fprintf(mac, "%s %s", user, ends)
	if !hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(signature)) {
		return auth.Result{Reason: "bad signature"}, nil
	}
	left := time.Until(time.Unix(seconds, 0))
	if left <= 0 {
		return auth.Result{Reason: "expired"}, nil
	}
	r := p.Accepted(user)
	r.Lifetime = left
	return r, nil
}
