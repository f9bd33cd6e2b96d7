package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/meta"
)

// line prints what a client sees of a key: value source [synonyms].
func line(entries []Entry, name string) string {
	for _, e := range entries {
		if e.Name != name {
			continue
		}
		var synonyms []string
		for _, s := range e.Synonyms {
			synonyms = append(synonyms, fmt.Sprintf("%s=%s@%d", s.Name, orNull(s.Value), s.Source))
		}
		return fmt.Sprintf("%s@%d [%s]", orNull(e.Value), e.Source, strings.Join(synonyms, " "))
	}
	return "absent"
}

func orNull(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// TestSynonymsAreKafkas has answers of a Kafka 4.4 to the same settings.
func TestSynonymsAreKafkas(t *testing.T) {
	r := NewResolver(nil).For(1)
	describe := func(img *meta.Image, topic string) []Entry {
		return r.DescribeTopic(img, img.Config(meta.Resource{Type: meta.ResourceTopic, Name: topic}))
	}
	fresh := image(1, "topic/a retention.ms=1234 cleanup.policy=compact,delete max.message.bytes=2000000 segment.ms=77")
	dynamic := image(2, "topic/a retention.ms=77", "broker/1 log.retention.ms=777777", "broker/ log.retention.ms=888888")
	for _, c := range []struct {
		entries    []Entry
		name, want string
	}{
		{describe(fresh, "a"), "retention.ms", "1234@1 [retention.ms=1234@1]"},
		{describe(fresh, "b"), "retention.ms", "604800000@5 []"},
		{describe(fresh, "a"), "segment.ms", "77@1 [segment.ms=77@1]"},
		{describe(fresh, "b"), "flush.ms", "9223372036854775807@5 []"},
		{describe(fresh, "a"), "cleanup.policy", "compact,delete@1 [cleanup.policy=compact,delete@1 log.cleanup.policy=delete@5]"},
		{describe(fresh, "a"), "max.message.bytes", "2000000@1 [max.message.bytes=2000000@1 message.max.bytes=1048588@5]"},
		{describe(fresh, "b"), "segment.bytes", "1073741824@5 [log.segment.bytes=1073741824@5]"},
		{describe(fresh, "b"), "leader.replication.throttled.replicas", "@5 []"},
		{describe(fresh, "b"), "internal.segment.bytes", "absent"},
		{describe(fresh, "b"), "mortise.partitioner", "absent"},
		{describe(image(1, "topic/a mortise.partitioner=x"), "a"), "mortise.partitioner", "x@1 [mortise.partitioner=x@1]"},
		{describe(dynamic, "a"), "retention.ms", "77@1 [retention.ms=77@1 log.retention.ms=777777@2 log.retention.ms=888888@3 log.retention.hours=168@5]"},
		{describe(dynamic, "b"), "retention.ms", "777777@2 [log.retention.ms=777777@2 log.retention.ms=888888@3 log.retention.hours=168@5]"},
		{r.DescribeBroker(dynamic, nil), "log.retention.ms", "777777@2 [log.retention.ms=777777@2 log.retention.ms=888888@3 log.retention.hours=168@5]"},
		{r.DescribeBroker(fresh, nil), "log.retention.ms", "null@5 []"},
		{r.DescribeBroker(fresh, nil), "log.retention.hours", "168@5 [log.retention.hours=168@5]"},
		{r.DescribeBroker(fresh, nil), "log.retention.minutes", "null@5 []"},
		{r.DescribeBroker(fresh, Facts{"node.id": "1"}), "node.id", "1@4 [node.id=1@4]"},
		{r.DescribeBroker(fresh, Facts{"broker.id": "1"}), "broker.id", "1@4 [broker.id=1@4 broker.id=-1@5]"},
		{r.DescribeCluster(dynamic), "log.retention.ms", "888888@3 [log.retention.ms=888888@3]"},
		{r.DescribeCluster(fresh), "log.retention.ms", "absent"},
	} {
		if got := line(c.entries, c.name); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestSourceOfTheFile: what the config file says is source 4, before the default.
func TestSourceOfTheFile(t *testing.T) {
	r := NewResolver(Static{"log.segment.bytes": "2000000", "num.partitions": "5"}).For(1)
	img := image(1)
	if got, want := line(r.DescribeTopic(img, nil), "segment.bytes"), "2000000@4 [log.segment.bytes=2000000@4 log.segment.bytes=1073741824@5]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := line(r.DescribeBroker(img, nil), "num.partitions"), "5@4 [num.partitions=5@4 num.partitions=1@5]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestUnknownValuesAreHidden: nobody knows whether they are secrets.
func TestUnknownValuesAreHidden(t *testing.T) {
	r := NewResolver(nil).For(1)
	img := image(1, "broker/1 my.own.key=secret", "broker/ my.other=secret")
	for _, entries := range [][]Entry{r.DescribeBroker(img, nil), r.DescribeCluster(img)} {
		for _, e := range entries {
			if strings.HasPrefix(e.Name, "my.") && (e.Value != nil || !e.Sensitive || e.Synonyms[0].Value != nil) {
				t.Errorf("%s shows its value", e.Name)
			}
		}
	}
	if got := line(r.DescribeBroker(img, nil), "my.own.key"); got != "null@2 [my.own.key=null@2]" {
		t.Errorf("got %s", got)
	}
}

// TestValuesAreShownAsTheyCount: parsed and printed, not as they were typed.
func TestValuesAreShownAsTheyCount(t *testing.T) {
	r := NewResolver(nil)
	entries := r.DescribeTopic(image(1), map[string]string{"retention.ms": " 77 ", "unclean.leader.election.enable": "TRUE", "cleanup.policy": "compact, delete", "min.cleanable.dirty.ratio": "1"})
	for name, want := range map[string]string{"retention.ms": "77", "unclean.leader.election.enable": "true", "cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "1.0"} {
		if got, _, _ := strings.Cut(line(entries, name), "@"); got != want {
			t.Errorf("%s is shown as %q, want %q", name, got, want)
		}
	}
}
