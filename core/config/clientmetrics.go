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

// AllClientMetrics in the place of a beginning of names stands for all metrics.
const AllClientMetrics = "*"

// ClientMetrics is a subscription: clients that match push what they have of Metrics
// once an interval. It is immutable.
type ClientMetrics struct {
	IntervalMS int32
	Metrics    []string // beginnings of names, or AllClientMetrics
	match      map[string]*regexp.Regexp
}

// ParseClientMetrics makes a subscription of its own values, which CheckClientMetrics
// lets pass, and defaults.
func ParseClientMetrics(own map[string]string) (c ClientMetrics, err error) {
	for _, k := range keys().clientMetrics {
		text, set := own[k.Name]
		if !set {
			text = k.Default
		}
		v, err := k.Parse(text)
		if err != nil {
			return c, err
		}
		switch k.Name {
		case intervalKey:
			c.IntervalMS = int32(v.Int)
		case metricsKey:
			c.Metrics = v.List
		case matchKey:
			if c.match, err = parseMatch(v.List); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// Matches says whether the subscription is for a client: its expressions match the
// whole of what the client's properties are. An unknown property matches nothing.
func (c *ClientMetrics) Matches(property func(name string) (value string, known bool)) bool {
	for name, expression := range c.match {
		if value, known := property(name); !known || !expression.MatchString(value) {
			return false
		}
	}
	return true
}

// clientMetricsKeys are the keys of subscriptions to clients' metrics. They can be
// set and shown whether or not this broker takes metrics of clients.
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
	_, err := parseMatch(parsed[matchKey].List)
	return err
}

// parseMatch reads patterns of the form property=expression; of two for one property
// the later counts. Expressions are RE2: the few of Java's that RE2 has no word for
// are refused like wrong ones.
func parseMatch(patterns []string) (map[string]*regexp.Regexp, error) {
	match := map[string]*regexp.Regexp{}
	for _, pattern := range patterns {
		property, expression, _ := strings.Cut(strings.TrimRight(pattern, "="), "=")
		property = strings.TrimSpace(property)
		if expression == "" || strings.Contains(expression, "=") || !slices.Contains(matchable[:], property) {
			return nil, &InvalidError{"Illegal client matching pattern: " + pattern}
		}
		expression = strings.TrimSpace(expression)
		if _, err := regexp.Compile(expression); err != nil { // alone: it must not need what is put around it
			return nil, &InvalidError{"Illegal client matching pattern: " + pattern}
		}
		whole, err := regexp.Compile("^(?:" + expression + ")$")
		if err != nil {
			return nil, &InvalidError{"Illegal client matching pattern: " + pattern}
		}
		match[property] = whole
	}
	return match, nil
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
