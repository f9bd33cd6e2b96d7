package host

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/sdk/internal/handshake"
)

// KeptEnv are the variables of the broker that a plugin gets too. Everything else may
// hold secrets that are none of its business: Command.Env adds what a plugin needs.
func KeptEnv() []string {
	return []string{"PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"}
}

// environment is a process's: what is kept, what the operator gave, and last, because
// the last counts, what belongs to the handshake.
func environment(c Command, dir string, protocol []string) []string {
	var env []string
	for _, name := range KeptEnv() {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, c.Env...)
	env = append(env, "TMPDIR="+dir, "HOME="+dir)
	if c.MemoryMax > 0 {
		env = append(env, handshake.MemoryKey+"="+strconv.FormatUint(c.MemoryMax, 10))
	}
	return lastOf(append(env, protocol...))
}

// lastOf keeps the last entry of each name.
func lastOf(env []string) []string {
	seen := make(map[string]bool, len(env))
	var kept []string
	for _, entry := range slices.Backward(env) {
		name, _, _ := strings.Cut(entry, "=")
		if !seen[name] {
			seen[name] = true
			kept = append(kept, entry)
		}
	}
	slices.Reverse(kept)
	return kept
}
