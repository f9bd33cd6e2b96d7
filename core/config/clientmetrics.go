package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
)

// The keys of a subscription to the metrics of clients (KIP-714).
const (
	intervalKey = "interval.ms"
	metricsKey  = "metrics"
	matchKey    = "match"
)

// The bounds of interval.ms.
const (
	intervalLeastMS = 100
	intervalMostMS  = 60 * 60 * 1000
)

// matchable are the words for a client's properties in match.
var matchable = [...]string{
	"client_instance_id", "client_id", "client_software_name", "client_software_version",
	"client_source_address", "client_source_port",
}

// clientMetricsKeys are the keys of subscriptions to clients' metrics. They can be
// set and shown; no client is asked for metrics (keys 71 and 72 of the protocol are
// not answered), as in a Kafka whose metrics reporters receive none.
func clientMetricsKeys() []Key {
	key := func(name string, t Type, def, doc string) Key {
		return Key{Name: name, Type: t, Scope: ClientMetricsScope, Default: def, Doc: doc, Live: true}
	}
	return []Key{
		key(intervalKey, Int, "300000", "How often in ms a client pushes its metrics."),
		key(matchKey, List, "", "Which clients push metrics: property=pattern, all of which must match."),
		key(metricsKey, List, "", "Which metrics they push, by the beginnings of their names; *: all."),
	}
}

// CheckClientMetrics says what is wrong with the values of a subscription, in Kafka's
// words, order and codes.
func CheckClientMetrics(values map[string]string) error {
	all := keys().clientMetrics
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(all, func(k Key) bool { return k.Name == name }) {
			return kafka.ErrInvalidRequest.Err("Unknown client metrics configuration: " + name)
		}
	}
	parsed := map[string]Value{}
	for i := range all {
		if text, set := values[all[i].Name]; set {
			v, err := all[i].Parse(text)
			if err != nil {
				return err
			}
			parsed[all[i].Name] = v
		}
	}
	if v, set := parsed[intervalKey]; set && (v.Int < intervalLeastMS || v.Int > intervalMostMS) {
		return kafka.ErrInvalidRequest.Err("Invalid value " + strconv.FormatInt(v.Int, 10) + " for " + intervalKey +
			", interval must be between 100 and 3600000 (1 hour)")
	}
	return checkMatch(parsed[matchKey].List)
}

// checkMatch wants patterns of the form property=expression. Expressions are RE2: the
// few of Java's that RE2 has no word for are refused like wrong ones.
func checkMatch(patterns []string) error {
	for _, pattern := range patterns {
		property, expression, _ := strings.Cut(strings.TrimRight(pattern, "="), "=")
		_, err := regexp.Compile(strings.TrimSpace(expression))
		if expression == "" || strings.Contains(expression, "=") || !slices.Contains(matchable[:], strings.TrimSpace(property)) || err != nil {
			return &InvalidError{"Illegal client matching pattern: " + pattern}
		}
	}
	return nil
}

// DescribeClientMetrics describes every key of a subscription with the given own
// values, by name.
func DescribeClientMetrics(own map[string]string) []Entry {
	var entries []Entry
	for _, k := range keys().clientMetrics {
		e := Entry{Name: k.Name, Value: &k.Default, Type: k.Type, Doc: k.Doc}
		if text, set := own[k.Name]; set {
			if v, err := k.Parse(text); err == nil {
				e.Value = &v.Text
				e.Synonyms = []Synonym{{k.Name, e.Value, SourceClientMetrics}}
			}
		}
		e.takeSource()
		entries = append(entries, e)
	}
	return entries
}
