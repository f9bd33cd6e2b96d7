package telemetry

import "strings"

// TextMax bounds a name or a value of a client in bytes; keys of series count on it
// to be less than 256.
const TextMax = 200

// Prefix is what the names of clients' metrics begin with on /metrics.
const Prefix = "mortise_client_"

// text is what a client wrote: valid UTF-8 of at most TextMax bytes.
func text(b []byte) string {
	return strings.ToValidUTF8(string(b[:min(len(b), TextMax)]), "?")
}

// metricName is Prometheus' name for a metric of a client: what can't be in one is an
// underscore.
func metricName(name string) string { return Prefix + plain(name) }

// labelName is Prometheus' name for an attribute; empty: it has none. Names that start
// with two underscores are Prometheus' own.
func labelName(name string) string {
	name = strings.TrimLeft(plain(name), "_")
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// plain has underscores for everything but ASCII letters and digits.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
}
