package config

import (
	"errors"
	"slices"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// TestCheckClientMetrics goes through the refusals of a Kafka 4.4, with their codes.
func TestCheckClientMetrics(t *testing.T) {
	const ok, request, config = "", "request: ", "config: "
	for _, c := range []struct{ name, value, want string }{
		{"interval.ms", "100", ok},
		{"interval.ms", "99", request + "Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)"},
		{"interval.ms", "3600001", request + "Invalid value 3600001 for interval.ms, interval must be between 100 and 3600000 (1 hour)"},
		{"interval.ms", "abc", config + "Invalid value abc for configuration interval.ms: Not a number of type INT"},
		{"no.such", "1", request + "Unknown client metrics configuration: no.such"},
		{"metrics", "a b,*,a", ok},
		{"match", "", ok},
		{"match", "client_id=a.*, client_source_port = 90", ok},
		{"match", "abc", config + "Illegal client matching pattern: abc"},
		{"match", "client_id=", config + "Illegal client matching pattern: client_id="},
		{"match", "client_id=[", config + "Illegal client matching pattern: client_id=["},
		{"match", "client_id=a=b", config + "Illegal client matching pattern: client_id=a=b"},
		{"match", "no_such=a", config + "Illegal client matching pattern: no_such=a"},
	} {
		got := ""
		var ke *kafka.Error
		if err := CheckClientMetrics(map[string]string{c.name: c.value}); errors.As(err, &ke) {
			got = request + ke.Message
		} else if err != nil {
			got = config + err.Error()
		}
		if got != c.want {
			t.Errorf("%s=%s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

// TestDescribeClientMetrics: a value of the subscription's own, and defaults.
func TestDescribeClientMetrics(t *testing.T) {
	got := DescribeClientMetrics(map[string]string{"interval.ms": "1000", "match": "client_id=a"})
	if len(got) != 3 || *got[0].Value != "1000" || got[0].Source != SourceClientMetrics || *got[1].Value != "client_id=a" ||
		*got[2].Value != "" || got[2].Source != SourceDefault || len(got[2].Synonyms) != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestClientMetricsMatch: expressions are for the whole value, and all must match.
func TestClientMetricsMatch(t *testing.T) {
	client := map[string]string{"client_id": "billing-7", "client_software_version": "4.4.0"}
	property := func(name string) (string, bool) { v, known := client[name]; return v, known }
	for match, want := range map[string]bool{
		"":                  true,
		"client_id=billing": false, // only a part
		"client_id=billing.*,client_software_version=4\\..*": true,
		"client_id=billing.*,client_software_version=3\\..*": false,
		"client_id=a|billing-7":                              true,
		"client_id=x,client_id=billing-7":                    true,  // the later one counts
		"client_source_port=.*":                              false, // not known
	} {
		c, err := ParseClientMetrics(map[string]string{"match": match})
		if err != nil || c.IntervalMS != 300000 || len(c.Metrics) != 0 {
			t.Fatal(c, err)
		}
		if got := c.Matches(property); got != want {
			t.Errorf("%q: %t, want %t", match, got, want)
		}
	}
	c, err := ParseClientMetrics(map[string]string{"metrics": "a., b.", "interval.ms": "100"})
	if err != nil || c.IntervalMS != 100 || !slices.Equal(c.Metrics, []string{"a.", "b."}) {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := ParseClientMetrics(map[string]string{"match": "client_id=["}); err == nil {
		t.Error("a wrong expression was taken")
	}
}
