package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/core/config"
)

// envPrefix starts every variable that we look at.
const envPrefix = "MORTISE_"

// notSettings are variables with our prefix that are no settings: they belong to
// commands (which file, which brokers) and to the test tools.
func notSettings() []string {
	return []string{envPrefix + "CONFIG", envPrefix + "BROKERS", envPrefix + "CACHE", envPrefix + "ADMIN", envPrefix + "ADMIN_TOKEN",
		envPrefix + "USER", envPrefix + "PASSWORD", envPrefix + "PASSWORD_FILE"}
}

// environment adds the variables that start with our prefix.
func (l *loader) environment(environ []string) {
	values, names := map[string]any{}, map[string]string{}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		rest, ok := strings.CutPrefix(name, envPrefix)
		if !ok || slices.Contains(notSettings(), name) {
			continue
		}
		path := envPath(rest)
		l.text(values, path, value, "environment "+name)
		names[path] = "environment " + name
	}
	l.merge(values, func(path string) string { return names[path] })
}

// envPath turns NODE__ID into node/id, and what follows DEFAULTS__ into a Kafka
// key.
func envPath(rest string) string {
	parts := strings.Split(strings.ToLower(rest), "__")
	if parts[0] == defaultsPath {
		return defaultsPath + delimiter + strings.ReplaceAll(strings.Join(parts[1:], "__"), "_", ".")
	}
	return strings.Join(parts, delimiter)
}

// flags adds what was given on the command line, by path.
func (l *loader) flags(flags map[string]string) {
	values, names := map[string]any{}, map[string]string{}
	for path, value := range flags {
		name := "flag --" + flagName(path)
		l.text(values, path, value, name)
		names[path] = name
	}
	l.merge(values, func(path string) string { return names[path] })
}

// flagName is the flag that sets a path. The short ones are those that people
// type; cmd registers the same names.
func flagName(path string) string {
	switch path {
	case "data/dir":
		return "data"
	case "listeners":
		return "listen"
	case "cluster/join":
		return "join"
	case "cluster/gossip/listen":
		return "gossip-listen"
	}
	return strings.ReplaceAll(path, delimiter, "-")
}

// text adds a value that came as text, read as the type of its key.
func (l *loader) text(values map[string]any, path, value, origin string) {
	l.origins[path] = origin
	if strings.HasPrefix(path, defaultsPath+delimiter) {
		l.kafkaKey(values, path, value)
		return
	}
	key, ok := known(path)
	if !ok {
		l.problem(path, unknown(path))
		delete(l.origins, path)
		return
	}
	v, err := fromText(key, value)
	if err != nil {
		l.problem(path, fmt.Errorf("%w (want %s)", err, key.Type))
		return
	}
	values[path] = v
}

// kafkaKey adds a key under defaults if there is such a key.
func (l *loader) kafkaKey(values map[string]any, path string, value any) {
	name := strings.TrimPrefix(path, defaultsPath+delimiter)
	if !kafkaKnows(name) {
		l.problem(path, unknown(path))
		delete(l.origins, path)
		return
	}
	values[path] = value
}

// kafkaKnows reports whether there is such a broker key.
func kafkaKnows(name string) bool {
	_, ok := config.LookupBroker(name)
	return ok
}

// fromText reads a text as the type that the key's default has.
func fromText(key Key, s string) (any, error) {
	switch key.Default.(type) {
	case int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", s)
		}
		return n, nil
	case []any:
		var list []any
		if err := json.Unmarshal([]byte(s), &list); err != nil {
			return nil, fmt.Errorf("%q is not a JSON list: %w", s, err)
		}
		return list, nil
	}
	return s, nil
}

// unknown says that there is no such key, and which one may have been meant.
func unknown(path string) error {
	best, distance := "", 4
	for _, candidate := range allPaths() {
		if d := editDistance(path, candidate, distance); d < distance {
			best, distance = candidate, d
		}
	}
	if best == "" {
		return fmt.Errorf("unknown key; `mortise config show --keys` lists them")
	}
	return fmt.Errorf("unknown key; did you mean %s?", shown(best))
}

func allPaths() []string {
	var paths []string
	for _, k := range Keys() {
		paths = append(paths, k.Path)
	}
	for _, k := range config.BrokerKeys() {
		paths = append(paths, defaultsPath+delimiter+k.Name)
	}
	return paths
}

// editDistance is the number of single-letter edits between a and b, or limit
// when there are at least that many.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
		if slices.Min(row) >= limit {
			return limit
		}
	}
	return min(row[len(b)], limit)
}
