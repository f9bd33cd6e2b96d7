package consumergroup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// topicID is a topic id that a test can foretell.
func topicID(n byte) (id kafka.TopicID) {
	id[0], id[15] = 1, n
	return id
}

// topic is a topic of some partitions on brokers 1 and 2.
func topic(id kafka.TopicID, name string, partitions int) *meta.Topic {
	t := &meta.Topic{Name: name, ID: id}
	for range partitions {
		t.Partitions = append(t.Partitions, meta.Partition{Replicas: []kafka.BrokerID{1, 2}})
	}
	return t
}

// picture is an image with topics.
func picture(index uint64, topics ...*meta.Topic) *meta.Image {
	e := meta.Empty("c").Edit(index)
	for _, t := range topics {
		e.PutTopic(t)
	}
	return e.Image()
}

// TestHashIsKafkas compares with what Kafka's classes say: a broker that takes over
// from the other shall not rebalance everybody.
func TestHashIsKafkas(t *testing.T) {
	foo := &meta.Topic{Name: "foo", ID: kafka.TopicID{7: 1, 15: 2}, Partitions: []meta.Partition{
		{Replicas: []kafka.BrokerID{2, 1}}, {Replicas: []kafka.BrokerID{2, 9}}}}
	bar := &meta.Topic{Name: "bär", ID: kafka.TopicID{7: 3, 8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xfc},
		Partitions: make([]meta.Partition, 40)}
	e := meta.Empty("c").Edit(1)
	e.PutTopic(foo)
	e.PutTopic(bar)
	e.PutBroker(&meta.Broker{ID: 1, Rack: "r1"})
	e.PutBroker(&meta.Broker{ID: 2, Rack: "r2"})
	img := e.Image()
	for _, c := range []struct {
		names []string
		want  int64
	}{
		{nil, 0},
		{[]string{"nosuch"}, 0},
		{[]string{"foo"}, -6570049979050541701},
		{[]string{"foo", "bär", "nosuch"}, 8620732232447361997},
	} {
		names := map[string]subscribers{}
		countTopics(names, c.names, subscribers{names: 1})
		if got := hashTopics(names, img); got != c.want {
			t.Errorf("the hash of %v is %d, want %d", c.names, got, c.want)
		}
	}
}

// TestExpressionsMatchWholeNames holds what RE2 and Kafka say, and that nobody's
// topics are told to who may not see them.
func TestExpressionsMatchWholeNames(t *testing.T) {
	img := picture(7, topic(topicID(1), "a", 1), topic(topicID(2), "ab", 1), topic(topicID(3), "b", 1), topic(topicID(4), "A", 1))
	for regex, want := range map[string]string{
		"a": "[a]", "a|b": "[a b]", "a.*": "[a ab]", "(?i)a": "[A a]", "(?m)^a$": "[a]", ".": "[A a b]", "": "[]", "[": "[]",
	} {
		found, _ := Resolve([]string{regex}, img, nil, 5, wanted)
		got := found[regex]
		if fmt.Sprint(got.Topics) != want || got.Version != 7 || got.AtMS != 5 {
			t.Errorf("%q stands for %v of image %d at %d, want %s of 7 at 5", regex, got.Topics, got.Version, got.AtMS, want)
		}
	}
	known := true
	asked := 0
	may := func(topics []string) (may []bool, _ bool) {
		asked++
		for _, topic := range topics {
			may = append(may, topic != "ab")
		}
		return may, known
	}
	got, ok := Resolve([]string{".*", "a.*"}, img, may, 0, wanted)
	if !ok || fmt.Sprint(got[".*"].Topics, got["a.*"].Topics) != "[A a b] [a]" || asked != 1 {
		t.Errorf("told %v after %d questions, want all but ab after one", got, asked)
	}
	known = false
	if got, ok := Resolve([]string{".*"}, img, may, 0, wanted); ok {
		t.Errorf("told %v though nobody knows who may know it", got)
	}
}

// wanted says that an answer is still wanted.
func wanted() bool { return false }

// TestResolveGivesUp stops a look-up when nobody wants to know any more.
func TestResolveGivesUp(t *testing.T) {
	img := picture(7, topic(topicID(1), "a", 1), topic(topicID(2), "b", 1), topic(topicID(3), "c", 1))
	asked := 0
	if got, ok := Resolve([]string{"a", "b"}, img, nil, 0, func() bool { asked++; return asked == 5 }); ok {
		t.Errorf("told %v", got)
	}
	if asked != 5 {
		t.Errorf("went on for %d topics, want 5", asked)
	}
}

// TestExpressionsAreBounded refuses what could not be a key, and what is short but long
// once its repetitions are written out.
func TestExpressionsAreBounded(t *testing.T) {
	for _, c := range []struct {
		regex string
		fine  bool
	}{
		{strings.Repeat("a", regexBytesMax), true},
		{strings.Repeat("a", regexBytesMax+1), false},
		{strings.Repeat("|", regexBytesMax), true},
		{strings.Repeat("a?", regexBytesMax/2), true},
		{strings.Repeat("a{1000}", 32), true},
		{strings.Repeat("(?:a?){1000}", 16), true},
		{strings.Repeat("(?:a?){1000}", 17), false},
		{"(?:" + strings.Repeat("(?:a?){100}", 17) + "){10}", false},
		{"(?:" + strings.Repeat("[^a-z]", 34) + "){1000,}", false},
		{`\pL{1,249}`, true},
	} {
		err := checkRegex(c.regex)
		if (err == nil) != c.fine || err != nil && err.Code != kafka.ErrInvalidRegularExpression {
			t.Errorf("%.30q of %d bytes: %.200v, want it taken: %t", c.regex, len(c.regex), err, c.fine)
		}
	}
}
