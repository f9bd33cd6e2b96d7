package main

import (
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cmd/internal/output"
)

// placesOf are the keys of a topic with the partition of each.
func placesOf(t *testing.T, at, topic string) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(must(t, at, "", "consume", topic, "-e", "-f", "%k=%p\\n")), "\n")
	return strings.Join(lines, " ")
}

// TestProduceByPartitioner holds that a built-in, and a program, choose the partitions,
// and not kgo.
func TestProduceByPartitioner(t *testing.T) {
	_, at := start(t)
	path := program(t)
	must(t, at, "", "topic", "create", "own", "crc", "prefix", "-p", "7")
	const keys = "eu-1:a\neu-2:b\neu-3:c\neu-4:d\n"
	must(t, at, keys, "produce", "own", "-k", ":")
	must(t, at, keys, "produce", "crc", "-k", ":", "--partitioner", "crc32", "--partitioner-config", `{"partitioner": "consistent"}`)
	must(t, at, keys, "produce", "prefix", "-k", ":", "--partitioner", path, "--partitioner-config", `{"separator": "-"}`)
	own, crc, prefix := placesOf(t, at, "own"), placesOf(t, at, "crc"), placesOf(t, at, "prefix")
	if own == crc || crc == prefix {
		t.Errorf("own %s, crc32 %s, prefix %s: want others each time", own, crc, prefix)
	}
	at0 := prefix[strings.Index(prefix, "=")+1:][:1]
	if strings.Count(prefix, "="+at0) != 4 {
		t.Errorf("%s: want all of a prefix together", prefix)
	}
}

func TestPartitionerErrors(t *testing.T) {
	_, at := start(t)
	must(t, at, "", "topic", "create", "t", "-p", "2")
	for _, c := range []struct {
		code       int
		line, want string
	}{
		{output.ExitUsage, "produce t --partitioner nosuch", `--partitioner "nosuch" is no built-in`},
		{output.ExitUsage, "produce t --partitioner crc32 -p 1", "one of them chooses"},
		{output.ExitUsage, "produce t --partitioner-config {}", "without --partitioner"},
		{output.ExitUsage, "produce t --partitioner crc32 --partitioner-config nosuch.json", "nosuch.json"},
		{output.ExitFailure, `produce t --partitioner crc32 --partitioner-config {"x":1}`, "unknown field"},
		{output.ExitFailure, "produce t --partitioner ./nosuch", "nosuch"},
		{output.ExitFailure, "produce t --partitioner /bin/true", "handshake"},
	} {
		fails(t, at, "a\n", c.code, c.want, strings.Fields(c.line)...)
	}
	// A topic with too few partitions for a rule: the record is not sent elsewhere.
	fails(t, at, "eu-1:a\n", output.ExitFailure, `the record with key "eu-1"`, "produce", "t", "-k", ":",
		"--partitioner", "range-by-prefix", "--partitioner-config", `{"rules": [{"prefix": "eu-", "partitions": "3-5"}]}`)
}
