package auth

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "record Kafka's decisions anew")

const recordedDecisions = "testdata/decisions.txt"

// TestKafkaDecidedSo replays what a real StandardAuthorizer decided.
func TestKafkaDecidedSo(t *testing.T) {
	if *rewrite {
		recordDecisions(t)
	}
	text, err := os.ReadFile(recordedDecisions)
	if err != nil {
		t.Fatal(err)
	}
	if n := checkDecisions(t, string(text)); n < 1000 {
		t.Errorf("%d decisions, want at least 1000", n)
	}
}

// TestKafkaDecidesSo asks a real StandardAuthorizer about many random sets of rules.
func TestKafkaDecidesSo(t *testing.T) {
	libs := os.Getenv("MORTISE_KAFKA_LIBS")
	if libs == "" {
		t.Skip("MORTISE_KAFKA_LIBS is not set: conformance/run.sh does it")
	}
	questions := randomDecisions(20261129, 2000)
	checkDecisions(t, withAnswers(t, libs, questions))
}

func recordDecisions(t *testing.T) {
	libs := os.Getenv("MORTISE_KAFKA_LIBS")
	if libs == "" {
		t.Fatal("MORTISE_KAFKA_LIBS must name the folder of Kafka's jars")
	}
	if err := os.WriteFile(recordedDecisions, []byte(withAnswers(t, libs, randomDecisions(44, 30))), 0o644); err != nil {
		t.Fatal(err)
	}
}

// randomDecisions are random sets of rules, with questions about each. Names and
// principals are few, so that rules meet.
func randomDecisions(seed uint64, sets int) []string {
	r := rand.New(rand.NewPCG(seed, 44))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	name := func() string {
		if r.IntN(8) == 0 {
			return pick("hardcode", "hard", "h", "été", "ét")
		}
		b := make([]byte, 1+r.IntN(4))
		for i := range b {
			b[i] = "abc"[r.IntN(3)]
		}
		return string(b)
	}
	ops := func() int { return int(OpAll) + r.IntN(14) }
	if seed%2 == 0 {
		ops = func() int { return []int{2, 3, 4, 7, 8, 10, 11}[r.IntN(7)] }
	}
	host := func() string { return pick("10.0.0.1", "10.0.0.2", "0:0:0:0:0:0:0:1") }
	types := func() int { return 2 + r.IntN(4)/3*3 } // topics mostly
	var lines []string
	for range sets {
		lines = append(lines, "set")
		for range r.IntN(25) {
			rule := name()
			pattern := 3 + r.IntN(2)
			if r.IntN(9) == 0 {
				pattern, rule = 3, "*"
			}
			h := "*"
			if r.IntN(4) == 0 {
				h = host()
			}
			lines = append(lines, fmt.Sprintf("rule %d %d %s %s %s %d %d", types(), pattern, rule,
				pick("User:alice", "User:alice", "User:bob", "User:*", "Robot:alice"), h, ops(), 2+min(1, r.IntN(3))))
		}
		for range 40 {
			who := pick("User:alice", "User:alice", "User:bob", "User:carol", "Robot:alice")
			op := max(3, ops())
			if r.IntN(4) == 0 {
				lines = append(lines, fmt.Sprintf("type %s %s %d %d", who, host(), op, types()))
				continue
			}
			lines = append(lines, fmt.Sprintf("name %s %s %d %d %s", who, host(), op, types(), name()))
		}
	}
	return lines
}

// withAnswers is the questions with Kafka's answers after them.
func withAnswers(t *testing.T, libs string, lines []string) string {
	source, err := filepath.Abs("testdata/Decide.java")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(libs, "*"), source)
	c.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	var answers []string
	for line := range strings.Lines(out.String()) {
		// What a logger says is not an answer.
		if line = strings.TrimSpace(line); line == "allow" || line == "deny" || line == "abstain" {
			answers = append(answers, line)
		}
	}
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(line)
		if strings.HasPrefix(line, "name ") || strings.HasPrefix(line, "type ") {
			if len(answers) == 0 {
				t.Fatalf("fewer answers than questions: %s", errs.String())
			}
			text.WriteString(" = " + answers[0])
			answers = answers[1:]
		}
		text.WriteByte('\n')
	}
	if len(answers) != 0 {
		t.Fatalf("%d answers too many", len(answers))
	}
	return text.String()
}

// checkDecisions compares the Matcher with answers, and says how many there were.
func checkDecisions(t *testing.T, text string) int {
	var rules []Rule
	var m *Matcher
	n, wrong := 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "set":
			rules, m = nil, nil
			continue
		case "rule":
			var r Rule
			if _, err := fmt.Sscan(rest, &r.Resource, &r.Pattern, &r.Name, &r.Principal, &r.Host, &r.Operation, &r.Permission); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			rules = append(rules, r)
			continue
		}
		if m == nil {
			m = NewMatcher(rules)
		}
		n++
		question, want, _ := strings.Cut(rest, " = ")
		if got := decideLine(t, m, kind, question); got != want {
			wrong++
			t.Errorf("%s: %s, Kafka says %s, with rules\n%+v", line, got, want, rules)
		}
		if wrong > 5 {
			t.Fatal("and so on")
		}
	}
	return n
}

func decideLine(t *testing.T, m *Matcher, kind, question string) string {
	var who, name string
	c := &Client{}
	var op Operation
	var resource ResourceType
	into := []any{&who, &c.Host, &op, &resource, &name}
	if kind == "type" {
		into = into[:4]
	}
	if _, err := fmt.Sscan(question, into...); err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	c.Host = canonicalHost(c.Host)
	c.PrincipalType, c.PrincipalName, _ = strings.Cut(who, ":")
	verdict := m.Decide(c, op, resource, name)
	if kind == "type" {
		verdict = m.DecideByResourceType(c, op, resource)
	}
	return []string{"deny", "allow", "abstain"}[verdict]
}
