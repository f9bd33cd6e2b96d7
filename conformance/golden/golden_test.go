package golden

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/sdk/partitioner"
)

// byLength puts keys where their lengths say, but one of them.
type byLength struct{ wrong string }

func (b byLength) Assign(_ context.Context, r *partitioner.Request, out []int32) error {
	for i, key := range r.Keys {
		out[i] = int32(len(key)) % r.Partitions
		if string(key) == b.wrong {
			out[i] = (out[i] + 1) % r.Partitions
		}
	}
	return nil
}

// answersOf puts each key where its length says, and the null key anywhere.
func answersOf() [][]int32 {
	var answers [][]int32
	for _, n := range Counts() {
		out := make([]int32, 0, len(Keys()))
		for _, key := range Keys() {
			if key == nil {
				out = append(out, partitioner.Any)
				continue
			}
			out = append(out, int32(len(key))%n)
		}
		answers = append(answers, out)
	}
	return answers
}

func TestKeysAreTheSameAlways(t *testing.T) {
	keys := Keys()
	if len(keys) != 10_000 || keys[0] != nil || keys[1] == nil || len(keys[1]) != 0 {
		t.Fatalf("%d keys, the first %q and %q", len(keys), keys[0], keys[1])
	}
	h := sha256.New()
	for _, key := range keys {
		fmt.Fprintf(h, "%d %x\n", len(key), key)
	}
	const want = "23544664"
	if got := fmt.Sprintf("%x", h.Sum(nil)); !strings.HasPrefix(got, want) {
		t.Errorf("the digest of all keys begins with %s, was %s: recorded tables are of other keys", got[:8], want)
	}
}

func TestCompareFindsOneWrongKey(t *testing.T) {
	table, err := NewTable("c", "1", "length", answersOf())
	if err != nil {
		t.Fatal(err)
	}
	again, err := parse(format([]*Table{table}))
	if err != nil {
		t.Fatal(err)
	}
	table = again[0]
	if err := table.Compare(t.Context(), byLength{wrong: "none"}); err != nil {
		t.Errorf("the same answers, and one for a key that may go anywhere: %v", err)
	}
	if err := table.Compare(t.Context(), byLength{wrong: "ab"}); err == nil || !strings.Contains(err.Error(), `"ab" to 0, not 1`) {
		t.Errorf("one wrong key that is shown: %v", err)
	}
	if err := table.Compare(t.Context(), byLength{wrong: string(Keys()[9999])}); err == nil {
		t.Error("one wrong key that is not shown passes")
	}
	outside := partitioner.Func(func(_ string, _ []byte, n int32) int32 { return n })
	if err := table.Compare(t.Context(), outside); err == nil {
		t.Error("a partition that there is not passes")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"of 1: aa", "client c 1\npartitioner p\n", "partitioner p\nof 7: aa", "partitioner p\nkey x", "partitioner p\nwhat"} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}
