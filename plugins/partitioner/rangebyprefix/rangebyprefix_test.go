package rangebyprefix

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/conformance/golden"
	"github.com/mortisemq/mortise/sdk/partitioner"
)

const example = `{
  "rules": [
    {"prefix": "eu-", "partitions": "0-3"},
    {"prefix": "eu-archive-", "partitions": 4},
    {"prefix": "1", "partitions": "9"},
    {"from": 1, "to": 999, "partitions": "5-6"},
    {"from": -10, "to": -1, "partitions": "7"},
    {"prefix": "東", "partitions": 10}
  ],
  "otherwise": "11-11"
}`

func newRanges(t *testing.T, config string) *ranges {
	t.Helper()
	r, err := parse([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSpans(t *testing.T) {
	if err := Plugin().Check(); err != nil {
		t.Fatal(err)
	}
	r := newRanges(t, example)
	for key, want := range map[string]span{
		"eu-1":                 {0, 3},
		"eu-":                  {0, 3},
		"eu-archive-7":         {4, 4},
		"eu-archive":           {0, 3},
		"eu":                   {11, 11},
		"":                     {11, 11},
		"us-1":                 {11, 11},
		"zzz":                  {11, 11},
		"1":                    {5, 6},
		"007":                  {5, 6},
		"999":                  {5, 6},
		"1000":                 {9, 9}, // beyond the bounds: by its prefix
		"0":                    {11, 11},
		"-1":                   {7, 7},
		"-11":                  {11, 11},
		"1x":                   {9, 9},
		"-":                    {11, 11},
		"99999999999999999999": {11, 11},
		"東京":                   {10, 10},
	} {
		if got := r.spanOf([]byte(key), 12); got != want {
			t.Errorf("key %q may go to %v, want %v", key, got, want)
		}
	}
	r.otherwise = nil
	if got := r.spanOf([]byte("us-1"), 12); got != (span{0, 11}) {
		t.Errorf("without otherwise a key may go to %v, want all", got)
	}
}

func TestKeysStayInTheirSpan(t *testing.T) {
	r := newRanges(t, example)
	seen := map[int32]int{}
	q := &partitioner.Request{Topic: "t", Partitions: 12}
	for i := range 1000 {
		q.Keys = append(q.Keys, fmt.Appendf(nil, "eu-%d", i))
	}
	q.Keys = append(q.Keys, nil)
	out := make([]int32, len(q.Keys))
	if err := r.Assign(t.Context(), q, out); err != nil {
		t.Fatal(err)
	}
	if out[1000] != partitioner.Any {
		t.Errorf("a null key goes to %d, want Any", out[1000])
	}
	for _, p := range out[:1000] {
		seen[p]++
	}
	for p := range int32(4) {
		if seen[p] < 200 {
			t.Errorf("partition %d got %d of 1000 keys, want about 250: %v", p, seen[p], seen)
		}
	}
	if len(seen) != 4 {
		t.Errorf("keys went to %v, want 0 to 3", seen)
	}
}

func TestTooFewPartitions(t *testing.T) {
	r := newRanges(t, example)
	q := &partitioner.Request{Topic: "orders", Partitions: 3, Keys: [][]byte{[]byte("eu-1")}}
	err := r.Assign(t.Context(), q, make([]int32, 1))
	if err == nil || !strings.Contains(err.Error(), "partitions 0-3, topic orders has 3") {
		t.Errorf("error %v, want one that names the rule's partitions and the topic's", err)
	}
	q.Keys[0] = nil
	if err := r.Assign(t.Context(), q, make([]int32, 1)); err != nil {
		t.Errorf("a null key needs no rule: %v", err)
	}
}

func TestConfigErrorsNameTheRule(t *testing.T) {
	for config, want := range map[string]string{
		`{}`:                         "0 rules",
		`{"rules":[]}`:               "0 rules",
		`{"rules":[{"prefix":"a"}]}`: "rule 1: no partitions",
		`{"rules":[{"prefix":"a","partitions":1},{"partitions":2}]}`:                              "rule 2: want either",
		`{"rules":[{"prefix":"a","from":1,"to":2,"partitions":1}]}`:                               "want either",
		`{"rules":[{"from":1,"partitions":1}]}`:                                                   "want either",
		`{"rules":[{"from":2,"to":1,"partitions":1}]}`:                                            "from 2 is beyond to 1",
		`{"rules":[{"from":1,"to":5,"partitions":1},{"from":5,"to":9,"partitions":1}]}`:           "overlap",
		`{"rules":[{"prefix":"a","partitions":1},{"prefix":"a","partitions":2}]}`:                 `two rules for the prefix "a"`,
		`{"rules":[{"prefix":"a","partitions":"3-1"}]}`:                                           "want one, or two",
		`{"rules":[{"prefix":"a","partitions":-1}]}`:                                              "want one, or two",
		`{"rules":[{"prefix":"a","partitions":1.5}]}`:                                             "want one, or two",
		`{"rules":[{"prefix":"a","partitions":"1-99999999999"}]}`:                                 "want one, or two",
		`{"rules":[{"prefix":"a","partitions":1}],"else":2}`:                                      "else",
		`{"rules":[{"prefix":"a","partitions":1}],"otherwise":"x"}`:                               "want one, or two",
		`{"rules":[{"prefix":"a","partitions":1},{"prefix":"b","partitions":{"first":1}}]}`:       "want one, or two",
		`{"rules":[` + strings.Repeat(`{"from":1,"to":1,"partitions":1},`, maxRules) + `{}]}`:     "10001 rules",
		`{"rules":[{"from":-9223372036854775809,"to":1,"partitions":1}]}`:                         "config",
		`{"rules":[{"prefix":"ab","partitions":1},{"prefix":"a","partitions":2}],"otherwise":[]}`: "want one, or two",
	} {
		err := Plugin().Validate([]byte(config))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: error %v, want %q", config, err, want)
		}
	}
}

// TestPrefixesGoAsTheirTwin compares the search with a look at every rule.
func TestPrefixesGoAsTheirTwin(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	word := func(most int) string {
		b := make([]byte, 1+rnd.IntN(most))
		for i := range b {
			b[i] = "ab\xff"[rnd.IntN(3)]
		}
		return string(b)
	}
	for range 500 {
		r := &ranges{}
		rules := map[string]span{}
		for range 1 + rnd.IntN(12) {
			prefix := word(4)
			if _, ok := rules[prefix]; ok {
				continue
			}
			to := span{int32(len(rules)), int32(len(rules))}
			rules[prefix] = to
			r.prefixes = append(r.prefixes, prefixRule{prefix: []byte(prefix), to: to})
		}
		if err := r.sort(); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			key := word(6)
			want, longest := span{0, 99}, -1
			for prefix, to := range rules {
				if strings.HasPrefix(key, prefix) && len(prefix) > longest {
					want, longest = to, len(prefix)
				}
			}
			if got := r.spanOf([]byte(key), 100); got != want {
				t.Fatalf("key %q goes to %v, want %v, of %v", key, got, want, rules)
			}
		}
	}
}

func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"", "0", "-0", "-", "42", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "+1", "1_0"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		got, ok := number(key)
		want, err := strconv.ParseInt(string(key), 10, 64)
		if wantOK := err == nil && !bytes.HasPrefix(key, []byte("+")); ok != wantOK || ok && got != want {
			t.Errorf("%q is %d, %v; want %d, %v", key, got, ok, want, wantOK)
		}
	})
}

func TestAssignAllocatesNothing(t *testing.T) {
	r := newRanges(t, example)
	q := &partitioner.Request{Topic: "t", Partitions: 12, Keys: golden.Keys()}
	out := make([]int32, len(q.Keys))
	if n := testing.AllocsPerRun(10, func() {
		if err := r.Assign(t.Context(), q, out); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d keys, want 0", n, len(q.Keys))
	}
}
