package config

import (
	"errors"
	"strings"
	"testing"
)

// TestTextsAreKafkas holds refusals to the words of a Kafka 4.4.
func TestTextsAreKafkas(t *testing.T) {
	compression := "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"
	for _, c := range []struct{ name, value, want string }{
		{"retention.ms", "abc", "Invalid value abc for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms", "", "Invalid value  for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"},
		{"retention.ms", " 77 ", ""},
		{"retention.ms", "9223372036854775808", "Invalid value 9223372036854775808 for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms", "1_000", "Invalid value 1_000 for configuration retention.ms: Not a number of type LONG"},
		{"segment.bytes", "x", "Invalid value x for configuration segment.bytes: Not a number of type INT"},
		{"segment.bytes", "10", "Invalid value 10 for configuration segment.bytes: Value must be at least 1048576"},
		{"segment.bytes", "2147483648", "Invalid value 2147483648 for configuration segment.bytes: Not a number of type INT"},
		{"cleanup.policy", "keep", "Invalid value keep for configuration cleanup.policy: String must be one of: compact, delete"},
		{"cleanup.policy", "compact,keep", "Invalid value keep for configuration cleanup.policy: String must be one of: compact, delete"},
		{"cleanup.policy", "compact , delete", ""},
		{"cleanup.policy", "", ""},
		{"cleanup.policy", "compact,compact", "Configuration 'cleanup.policy' values must not be duplicated."},
		{"compression.type", "brotli", "Invalid value brotli for configuration compression.type: " + compression},
		{"compression.type", "GZIP", "Invalid value GZIP for configuration compression.type: " + compression},
		{"compression.gzip.level", "-1", ""},
		{"compression.gzip.level", "0", "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
		{"compression.lz4.level", "18", "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17"},
		{"min.cleanable.dirty.ratio", "1.5", "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{"min.cleanable.dirty.ratio", "NaN", "Invalid value NaN for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		{"preallocate", "maybe", "Invalid value maybe for configuration preallocate: Expected value to be either true or false"},
		{"unclean.leader.election.enable", "TRUE", ""},
		{"leader.replication.throttled.replicas", "*", ""},
		{"leader.replication.throttled.replicas", "0:1,1:2", ""},
		{"no.such.config", "1", "Unknown topic config name: no.such.config"},
		{"", "1", "Unknown topic config name: "},
		{"message.format.version", "2.0", "Unknown topic config name: message.format.version"},
		{"max.compaction.lag.ms", "0", "Invalid value 0 for configuration max.compaction.lag.ms: Value must be at least 1"},
		{"remote.storage.enable", "true", "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
		{"internal.segment.bytes", "1000", ""},
	} {
		err := CheckTopic(map[string]string{c.name: c.value})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s=%q: %v, want it accepted", c.name, c.value, err)
		case c.want != "" && (err == nil || err.Error() != c.want):
			t.Errorf("%s=%q: %v, want %s", c.name, c.value, err, c.want)
		case c.want != "" && !errors.Is(err, ErrInvalid):
			t.Errorf("%s=%q: the refusal is no ErrInvalid", c.name, c.value)
		}
	}
}

func TestValuesThatContradictEachOther(t *testing.T) {
	err := CheckTopic(map[string]string{"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"})
	want := "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestNamesAreCheckedBeforeValues is the order in which Kafka looks.
func TestNamesAreCheckedBeforeValues(t *testing.T) {
	err := CheckTopic(map[string]string{"segment.bytes": "x", "zzz": "1"})
	if err == nil || err.Error() != "Unknown topic config name: zzz" {
		t.Errorf("got %v, want the unknown name first", err)
	}
}

func TestCheckBrokerNamesEveryFault(t *testing.T) {
	err := CheckBroker(map[string]string{"num.partitions": "0", "no.such.key": "1", "log.retention.hours": "1h", "node.id": "4", "fetch.max.bytes": "2048"})
	for _, want := range []string{
		"Invalid value 0 for configuration num.partitions: Value must be at least 1",
		"unknown broker key no.such.key",
		"unknown broker key node.id",
		"Invalid value 1h for configuration log.retention.hours: Not a number of type INT",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say: %s", err, want)
		}
	}
	if err := CheckBroker(map[string]string{DurabilityKey: DurabilityFsync}); err != nil {
		t.Errorf("durability: %v", err)
	}
}

func TestCheckDynamic(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"num.partitions", "7", "Cannot update these configs dynamically: [num.partitions]"},
		{"node.id", "7", "Cannot update these configs dynamically: [node.id]"},
		{"num.io.threads", "7", "Cannot update these configs dynamically: [num.io.threads]"},
		{"log.retention.ms", "abc", "Invalid value abc for configuration log.retention.ms: Not a number of type LONG"},
		{"log.retention.ms", "777", ""},
		{"log.retention.ms", "-1", ""},
		{"log.retention.ms", "0", "Invalid value 0 for configuration log.retention.ms: Value must be unlimited (-1) or at least 1"},
		{"log.roll.ms", "0", "Invalid value 0 for configuration log.roll.ms: Value must be at least 1"},
		{"max.connections.per.ip.overrides", "127.0.0.1:5,[::1]:6", ""},
		{"max.connections.per.ip.overrides", "localhost:5", `Invalid value localhost:5 for configuration max.connections.per.ip.overrides: "localhost" is not an IP address`},
	} {
		err := CheckDynamic(map[string]string{c.name: c.value})
		if got := text(err); got != c.want {
			t.Errorf("%s=%s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
