package admin

import (
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// refused says why a request may not change anything, with the status of the answer;
// 0: it may.
//
// Whoever changes plugins runs code as the broker, so a change needs the token, which
// only those have who may read the broker's data directory. The rest keeps browsers
// out that somebody else's page speaks through, whatever they can guess: a name that
// was rebound to this address, a form, a request from another origin.
func (s *Server) refused(r *http.Request) (status int, why string) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case !s.addressed(r.Host):
		return http.StatusForbidden, "the Host " + quotable(r.Host) + " is no address of this listener: changes are asked for by IP address, by localhost or by the name in admin.address"
	case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "":
		return http.StatusForbidden, "changes are not for browsers"
	case err != nil || media != "application/json":
		return http.StatusUnsupportedMediaType, "changes are asked for in JSON: Content-Type: application/json"
	case s.options.Token == "":
		return http.StatusForbidden, "this broker has no token, so nobody may change anything here"
	case !s.knows(r.Header.Get("Authorization")):
		return http.StatusUnauthorized, "changes need the token of " + s.options.TokenFile + ": Authorization: Bearer TOKEN"
	}
	return 0, ""
}

// knows says whether the header has the token.
func (s *Server) knows(header string) bool {
	token, ok := strings.CutPrefix(header, "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(token), []byte(s.options.Token)) == 1
}

// addressed says whether a Host header means this listener and not a name that
// somebody else made point to it.
func (s *Server) addressed(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if _, err := netip.ParseAddr(host); err == nil || strings.EqualFold(host, "localhost") {
		return true
	}
	own, _, err := net.SplitHostPort(s.options.Address)
	return err == nil && own != "" && strings.EqualFold(host, own)
}

// quotable is the beginning of what a stranger sent, for an answer.
func quotable(text string) string {
	const most = 64
	return strings.ToValidUTF8(text[:min(len(text), most)], "?")
}
