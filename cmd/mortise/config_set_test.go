package main

import (
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

func TestConfigsAreSetAndUnset(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "orders")
	for _, c := range []struct{ line, want string }{
		{"config set topic orders retention.ms=1000 --dry-run",
			"KEY           OLD        NEW   COUNTS\nretention.ms  604800000  1000  live\nthis was checked and nothing was changed: a dry run\n"},
		{"config set topic orders retention.ms=1000 cleanup.policy=compact,delete",
			"KEY             OLD        NEW             COUNTS\ncleanup.policy  delete     compact,delete  live\nretention.ms    604800000  1000            live\n"},
		{"config unset topic orders retention.ms --dry-run",
			"KEY           OLD   NEW      COUNTS\nretention.ms  1000  default  live\nthis was checked and nothing was changed: a dry run\n"},
		{"config set cluster log.retention.ms=5000", "KEY               OLD  NEW   COUNTS\nlog.retention.ms  -    5000  live\n"},
		{"config set cluster min.insync.replicas=1", "KEY                  OLD  NEW  COUNTS\nmin.insync.replicas  -    1    live\n"},
		{"config set broker 1 log.retention.ms=6000 num.recovery.threads.per.data.dir=4",
			"KEY                                OLD   NEW   COUNTS\nlog.retention.ms                   5000  6000  live\nnum.recovery.threads.per.data.dir  2     4     after a restart\n"},
		{"config unset topic orders retention.ms", "KEY           OLD   NEW   COUNTS\nretention.ms  1000  6000  live\n"},
		{"config unset broker 1 log.retention.ms --dry-run",
			"KEY               OLD   NEW   COUNTS\nlog.retention.ms  6000  5000  live\nthis was checked and nothing was changed: a dry run\n"},
		{"config unset broker 1 log.retention.ms", "KEY               OLD   NEW   COUNTS\nlog.retention.ms  6000  5000  live\n"},
		{"config unset cluster log.retention.ms", "KEY               OLD   NEW      COUNTS\nlog.retention.ms  5000  default  live\n"},
		{"config set cluster my.password=secret", "KEY          OLD  NEW  COUNTS\nmy.password  -    -    live\n"},
		{"config set group billing consumer.session.timeout.ms=50000",
			"KEY                          OLD    NEW    COUNTS\nconsumer.session.timeout.ms  45000  50000  live\n"},
		{"config unset group billing consumer.session.timeout.ms",
			"KEY                          OLD    NEW    COUNTS\nconsumer.session.timeout.ms  50000  45000  live\n"},
	} {
		if got := must(t, at, "", strings.Fields(c.line)...); got != c.want {
			t.Errorf("mortise %s:\n%swant\n%s", c.line, got, c.want)
		}
	}
	got := decode[configResult](t, must(t, at, "", "config", "set", "topic", "orders", "retention.ms=7", "-o", "json"))
	if !got.Done || got.Resource != "topic" || got.Name != "orders" || len(got.Changes) != 1 || *got.Changes[0].New != "7" || got.Changes[0].Restart {
		t.Errorf("%+v", got)
	}
}

// TestConfigErrors holds that nothing is changed if one of several keys is wrong, and
// that the cluster's words are passed on.
func TestConfigErrors(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "orders")
	for _, c := range []struct {
		code       int
		line, want string
	}{
		{1, "config set topic orders retention.ms=5 segment.bytes=x", "topic orders: nothing was changed: INVALID_CONFIG: Invalid value x for configuration segment.bytes"},
		{1, "config set topic orders nosuch=1", "topic orders: nothing was changed: INVALID_CONFIG: Unknown topic config name: nosuch"},
		{1, "config set topic nosuch retention.ms=5", "topic nosuch: nothing was changed: UNKNOWN_TOPIC_OR_PARTITION"},
		{1, "config set broker 1 num.partitions=5", "broker 1: nothing was changed: INVALID_REQUEST: Cannot update these configs dynamically: [num.partitions]"},
		{2, "config set table orders a=1", `configs of "table"? write one of topic, broker, cluster, group`},
		{2, "config set topic retention.ms=5", "write topic NAME and then the keys"},
		{2, "config set topic orders retention.ms", `"retention.ms" is not KEY=VALUE`},
		{2, "config unset topic", "at least 2 arg"},
	} {
		fails(t, at, "", c.code, c.want, strings.Fields(c.line)...)
	}
	if text := must(t, at, "", "topic", "describe", "orders"); strings.Contains(text, "retention.ms") {
		t.Errorf("a key was set beside one that was refused:\n%s", text)
	}
	fails(t, nowhere, "", output.ExitFailure, "no broker at "+nowhere, "config", "set", "topic", "orders", "retention.ms=5")
}

func TestConfigCompletion(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "orders")
	for _, c := range []struct{ line, want string }{
		{"config set _", "topic\nbroker\ncluster\ngroup\n"},
		{"config set topic _", "orders\n"},
		{"config set topic orders _", "cleanup.policy=\n"},
		{"config unset topic orders _", "cleanup.policy\n"},
		{"config set cluster _", "compression.gzip.level=\n"},
		{"config set group g _", "consumer.assignment.interval.ms="},
	} {
		completes(t, at, c.line, c.want)
	}
}
