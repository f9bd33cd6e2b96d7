package assignor

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// agreementCases is how many random groups each rule is compared on.
const agreementCases = 1500

// TestKafkaAgrees asks Kafka's own classes about random groups. Range and uniform must
// give the same when Kafka sees members and topics in the order of their ids; uniform
// must give the same sizes, and leave as much where it is, in whatever order it sees
// the members of a group that subscribe to the same topics.
func TestKafkaAgrees(t *testing.T) {
	dir := os.Getenv("MORTISE_KAFKA_LIBS")
	if dir == "" {
		t.Skip("MORTISE_KAFKA_LIBS is not set: conformance/run.sh does it")
	}
	random := rand.New(rand.NewPCG(4, 4))
	var questions bytes.Buffer
	var cases []agreement
	for i := range agreementCases {
		g := randomGroup(random, i%2 == 0)
		for _, name := range []string{"range", "uniform"} {
			cases = append(cases, agreement{name: name, group: g})
			ask(&questions, name, g)
		}
		if i%2 == 0 {
			g.members = slices.Clone(g.members)
			random.Shuffle(len(g.members), func(a, b int) { g.members[a], g.members[b] = g.members[b], g.members[a] })
			cases = append(cases, agreement{name: "uniform", group: g, shuffled: true})
			ask(&questions, "uniform", g)
		}
	}
	answers := kafkaAnswers(t, dir, &questions)
	for _, c := range cases {
		c.check(t, readAnswer(t, answers))
		if t.Failed() {
			return
		}
	}
}

// agreement is one comparison with Kafka.
type agreement struct {
	name     string
	group    group
	shuffled bool
}

func (c agreement) check(t *testing.T, want map[string]string) {
	result, err := rules[c.name](c.group.members, c.group.topics)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for id, target := range result {
		got[id] = targetText(target)
	}
	if !c.shuffled {
		if !maps.Equal(got, want) {
			var text bytes.Buffer
			ask(&text, c.name, c.group)
			t.Errorf("of\n%s\ngot  %v\nwant %v", text.String(), got, want)
		}
		return
	}
	gotKept, gotSizes := summary(c.group, got)
	wantKept, wantSizes := summary(c.group, want)
	if gotKept != wantKept || !slices.Equal(gotSizes, wantSizes) {
		t.Errorf("%s keeps %d with sizes %v, Kafka keeps %d with sizes %v", c.name, gotKept, gotSizes, wantKept, wantSizes)
	}
}

// summary is how many partitions stay with their member, and the sorted sizes.
func summary(g group, targets map[string]string) (kept int, sizes []int) {
	for _, m := range g.members {
		had := seatSet(targetText(m.Current))
		has := seatSet(targets[m.ID])
		for s := range has {
			if had[s] {
				kept++
			}
		}
		sizes = append(sizes, len(has))
	}
	slices.Sort(sizes)
	return kept, sizes
}

func seatSet(target string) map[string]bool {
	set := make(map[string]bool)
	for part := range strings.SplitSeq(target, ";") {
		topic, partitions, _ := strings.Cut(part, ":")
		for partition := range strings.SplitSeq(partitions, ",") {
			if partition != "" {
				set[topic+":"+partition] = true
			}
		}
	}
	return set
}

// randomGroup is drawGroup and drawHistory without rapid, at sizes from tiny to 40
// members.
func randomGroup(r *rand.Rand, alike bool) group {
	g := group{topics: make(map[kafka.TopicID]Topic)}
	var all []kafka.TopicID
	for i := range 1 + r.IntN(8) {
		all = append(all, topicID(i+1))
		g.topics[topicID(i+1)] = Topic{ID: topicID(i + 1), Partitions: int32(r.IntN(30))}
	}
	for i := range 1 + r.IntN(cmp.Or(r.IntN(2)*40, 6)) {
		m := Member{ID: fmt.Sprintf("m%02d", i), Topics: all, Current: map[kafka.TopicID][]int32{}}
		if !alike {
			m.Topics = slices.DeleteFunc(slices.Clone(all), func(kafka.TopicID) bool { return r.IntN(3) == 0 })
		}
		if r.IntN(3) == 0 {
			m.InstanceID = fmt.Sprintf("i%02d", 99-i)
		}
		g.members = append(g.members, m)
	}
	lost := r.Float64()
	for _, id := range all {
		for partition := range g.topics[id].Partitions {
			if r.Float64() > lost {
				// The square root favours late members, so that some have too many.
				m := r.IntN(1 + r.IntN(len(g.members)))
				g.members[m].Current[id] = append(g.members[m].Current[id], partition)
			}
		}
	}
	return g
}

// ask writes a case as testdata/Assign.java reads it.
func ask(w io.Writer, name string, g group) {
	for id, topic := range g.topics {
		fmt.Fprintln(w, "topic", number(id), topic.Partitions)
	}
	for _, m := range g.members {
		var topics []string
		for _, id := range m.Topics {
			topics = append(topics, fmt.Sprint(number(id)))
		}
		fmt.Fprintln(w, "member", m.ID, cmp.Or(m.InstanceID, "-"), cmp.Or(strings.Join(topics, ","), "-"), targetText(m.Current))
	}
	fmt.Fprintln(w, name)
}

func number(id kafka.TopicID) int { return int(id[14])<<8 + int(id[15]) }

// targetText is a target as testdata/Assign.java writes it.
func targetText(target map[kafka.TopicID][]int32) string {
	var parts []string
	for _, id := range slices.SortedFunc(maps.Keys(target), kafka.TopicID.Compare) {
		partitions := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(target[id]), "[]")), ",")
		parts = append(parts, fmt.Sprintf("%d:%s", number(id), partitions))
	}
	return cmp.Or(strings.Join(parts, ";"), "-")
}

func kafkaAnswers(t *testing.T, libs string, questions io.Reader) *bufio.Scanner {
	// slf4j says on standard error that nobody listens; that is not a failure.
	cmd := exec.CommandContext(t.Context(), "java", "-cp", filepath.Join(libs, "*"), "testdata/Assign.java")
	cmd.Stdin = questions
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("java: %v\n%s", err, problems.String())
	}
	return bufio.NewScanner(&out)
}

func readAnswer(t *testing.T, lines *bufio.Scanner) map[string]string {
	answer := make(map[string]string)
	for lines.Scan() {
		if lines.Text() == "." {
			return answer
		}
		id, target, _ := strings.Cut(lines.Text(), " ")
		answer[id] = target
	}
	t.Fatal("Kafka's answers end early")
	return nil
}
