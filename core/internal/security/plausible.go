package security

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
)

// Bounds of what an authenticator may say of a client.
const (
	nameMax   = 1024 // bytes of a principal's or a group's name
	groupsMax = 1024
)

// plausible says why an acceptance is not believed, and clamps its times.
func (g *Gate) plausible(l *Listener, r *auth.Result) error {
	for _, s := range append([]string{r.PrincipalType, r.PrincipalName}, r.Groups...) {
		if s == "" || len(s) > nameMax || !utf8.ValidString(s) {
			return fmt.Errorf("a principal or group with the name %.64q, want 1 to %d bytes of UTF-8", s, nameMax)
		}
	}
	principal := r.PrincipalType + ":" + r.PrincipalName
	switch {
	case strings.Contains(r.PrincipalType, ":"):
		return fmt.Errorf("a principal of the type %.64q", r.PrincipalType)
	case len(r.Groups) > groupsMax:
		return fmt.Errorf("%d groups, want at most %d", len(r.Groups), groupsMax)
	case r.Lifetime < 0, r.Lifetime > 0 && r.Lifetime < time.Millisecond: // which clients would be told as 0, no end
		return errors.New("a credential that has expired was accepted")
	case principal == wire.Anonymous, r.PrincipalType == auth.GroupType, r.PrincipalName == auth.Wildcard, !l.SuperUsers && g.opt.Reserved(principal):
		return fmt.Errorf("the principal %.64q, which this authenticator may not give", principal)
	}
	r.Lifetime = r.Lifetime.Truncate(time.Millisecond)
	r.CacheTTL = min(max(r.CacheTTL, 0), auth.MaxAcceptTTL)
	if r.Lifetime > 0 { // so that some of it is left when it is remembered
		r.CacheTTL = min(r.CacheTTL, r.Lifetime)
	}
	return nil
}
