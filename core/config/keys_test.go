package config

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rows reads a table of testdata: fields between bars, # comments.
func rows(t *testing.T, name string, fields int) (out [][]string) {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		row := strings.Split(s.Text(), "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		if len(row) != fields {
			t.Fatalf("%s: row %q has %d fields, want %d", name, s.Text(), len(row), fields)
		}
		out = append(out, row)
	}
	return out
}

// shownDefault is a default as testdata has it.
func shownDefault(k *Key) string {
	if k.NullDefault {
		return "-"
	}
	return k.Default
}

// TestTopicKeysAreKafkas compares with what a Kafka 4.4 lists: a key more, a key
// less, or another type, default or synonym is a difference that tools see.
func TestTopicKeysAreKafkas(t *testing.T) {
	have := map[string]Key{}
	for _, k := range TopicKeys() {
		have[k.Name] = k
	}
	for _, row := range rows(t, "topic_keys.txt", 4) {
		k, ok := have[row[0]]
		if !ok {
			t.Errorf("topic key %s is missing", row[0])
			continue
		}
		delete(have, row[0])
		if got := strconv.Itoa(int(k.Type)); got != row[1] {
			t.Errorf("%s has type %s, want %s", k.Name, got, row[1])
		}
		if got := shownDefault(&k); got != row[2] {
			t.Errorf("%s has default %q, want %q", k.Name, got, row[2])
		}
		if row[3] != "-" && (len(k.Synonyms) == 0 || k.Synonyms[0] != row[3]) {
			t.Errorf("%s has synonyms %q, want %s first", k.Name, k.Synonyms, row[3])
		}
	}
	for name, k := range have {
		if strings.HasPrefix(name, "mortise.") && k.WhenSet {
			continue // tools see ours only where somebody set them
		}
		t.Errorf("topic key %s is none of Kafka's", name)
	}
}

// TestBrokerKeysAreKafkas compares every broker key that Kafka has, too. Keys of
// Kafka's that are missing here are ones that this broker does not honour.
func TestBrokerKeysAreKafkas(t *testing.T) {
	kafka := map[string][]string{}
	for _, row := range rows(t, "broker_keys.txt", 4) {
		kafka[row[0]] = row
	}
	// Kafka's own choice of these was measured to cost more CPU: core/internal/server
	// says how much.
	kafka["socket.send.buffer.bytes"][2] = "212992"
	kafka["socket.receive.buffer.bytes"][2] = "-1"
	for _, k := range BrokerKeys() {
		row, ok := kafka[k.Name]
		if !ok {
			if !strings.HasPrefix(k.Name, "mortise.") {
				t.Errorf("broker key %s is neither Kafka's nor ours", k.Name)
			}
			continue
		}
		changeable := "rw"
		if k.ReadOnly {
			changeable = "ro"
		}
		if got := []string{k.Name, strconv.Itoa(int(k.Type)), shownDefault(&k), changeable}; !slices.Equal(got, row) {
			t.Errorf("got %q, want %q", got, row)
		}
	}
}

// TestForeignNamesAreKnown sees to it that every name of Kafka's that is no key of
// ours is refused as a dynamic value, and not stored to be ignored.
func TestForeignNamesAreKnown(t *testing.T) {
	for _, row := range rows(t, "broker_keys.txt", 4) {
		if _, ours := LookupBroker(row[0]); ours {
			continue
		}
		if err := CheckDynamic(map[string]string{row[0]: "1"}); err == nil {
			t.Errorf("%s is accepted, though nothing honours it", row[0])
		}
	}
	if err := CheckDynamic(map[string]string{"no.such.config": "7"}); err != nil {
		t.Errorf("a name that nobody knows: %v, want nil as in Kafka", err)
	}
}

// TestKeysAreSound checks what every key must be.
func TestKeysAreSound(t *testing.T) {
	c := keys()
	all := slices.Concat(c.topic, c.broker, c.facts)
	for i := range all {
		k := &all[i]
		if k.Doc == "" {
			t.Errorf("%s has no description", k.Name)
		}
		if k.HasDefault() && k.Default != "" {
			if v, err := k.Parse(k.Default); err != nil || v.Text != k.Default {
				t.Errorf("default %q of %s: reads as %q, %v", k.Default, k.Name, v.Text, err)
			}
		}
		for _, synonym := range k.Synonyms {
			if _, ok := LookupBroker(synonym); !ok {
				t.Errorf("%s has the synonym %s, which is no broker key", k.Name, synonym)
			}
		}
	}
	for _, list := range [][]Key{TopicKeys(), BrokerKeys()} {
		if !slices.IsSortedFunc(list, func(a, b Key) int { return strings.Compare(a.Name, b.Name) }) {
			t.Error("keys are not in the order of their names")
		}
	}
	if _, ok := LookupBroker("node.id"); ok {
		t.Error("node.id can be set, though it is a fact")
	}
	for _, c := range []struct {
		scope Scope
		name  string
		want  bool
	}{
		{TopicScope, "cleanup.policy", true}, {TopicScope, "retention.ms", false}, {BrokerScope, "log.cleanup.policy", true},
		{BrokerScope, "cleanup.policy", false}, {ClientMetricsScope, "metrics", false},
	} {
		if _, got := LookupList(c.scope, c.name); got != c.want {
			t.Errorf("%s of scope %d is a list: %v, want %v", c.name, c.scope, got, c.want)
		}
	}
}

// TestTopicDefaultsAreTheBrokers sees to it that a topic key and the broker key
// that it comes from agree when nobody set anything.
func TestTopicDefaultsAreTheBrokers(t *testing.T) {
	l := layers{static: &Static{}}
	for i := range keys().topic {
		k := &keys().topic[i]
		if k.NullDefault {
			continue
		}
		if v, ok := l.topicDefault(k); !ok || v.Text != k.Default {
			t.Errorf("%s is %q by the broker's keys, %q by its own default", k.Name, v.Text, k.Default)
		}
	}
}
