package admin

import (
	"net/http"
	"strings"
)

// Value is one setting with its origin.
type Value struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"` // default, FILE:LINE, environment NAME, flag --NAME
	Secret bool   `json:"secret,omitempty"`
}

// masked stands for a secret.
const masked = "********"

// secretWords mark keys whose values are never shown, whatever the caller says
// of them: showing one too few is a nuisance, one too many an incident.
var secretWords = [...]string{"password", "secret", "token", "credential", "jaas", "private", "keystore.key"}

func (s *Server) config(w http.ResponseWriter, _ *http.Request) {
	values := []Value{}
	if s.options.Config != nil {
		for _, v := range s.options.Config() {
			values = append(values, mask(v))
		}
	}
	s.reply(w, http.StatusOK, map[string][]Value{"config": values})
}

// mask hides the value of a secret. An empty one stays visible: that it is not
// set is worth knowing.
func mask(v Value) Value {
	if v.Value == nil || v.Value == "" {
		return v
	}
	key := strings.ToLower(v.Key)
	for _, word := range secretWords {
		v.Secret = v.Secret || strings.Contains(key, word)
	}
	if v.Secret {
		v.Value = masked
	}
	return v
}
