package main

import (
	"strings"
	"testing"
)

// ok is a run of one record that nothing is wrong with; each case spoils it.
func ok(c *checker) {
	c.acked(0, 0, "a")
	c.allAcked()
	c.owned("m", 1, []int32{0, 1, 2, 3, 4, 5})
	c.delivered("m", 0, 0, "a")
	c.commits(map[int32]int64{0: 1})
}

func TestCheckerFindsFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*checker)
		want  string
	}{
		"a lost record":             {func(c *checker) { c.acked(3, 9, "b") }, "1 of 2 records are not delivered"},
		"another key":               {func(c *checker) { c.owned("m", 2, []int32{0}); c.delivered("m", 0, 0, "b") }, `key "b", want "a"`},
		"a skipped record":          {func(c *checker) { c.delivered("m", 0, 2, "c") }, "goes on at 2, want 1"},
		"a record twice":            {func(c *checker) { c.delivered("m", 0, 0, "a") }, "goes on at 0, want 1"},
		"a record of a stranger":    {func(c *checker) { c.delivered("n", 0, 0, "a") }, "before it owns anything"},
		"two owners":                {func(c *checker) { c.owned("n", 1, []int32{5}) }, "generation 1: partition 5 belongs to m and n"},
		"a commit that goes back":   {func(c *checker) { c.commits(map[int32]int64{0: 0}) }, "went from 1 to 0"},
		"a commit that is gone":     {func(c *checker) { c.commits(map[int32]int64{}) }, "went from 1 to 0"},
		"a commit that never came":  {func(c *checker) { c.acked(0, 1, "b"); c.delivered("m", 0, 1, "b") }, "committed is 1, want 2"},
		"a partition without owner": {func(c *checker) { c.owned("m", 2, []int32{0}) }, "not each owned once"},
		"a partition owned twice":   {func(c *checker) { c.owned("n", 2, []int32{0}) }, "not each owned once"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChecker()
			ok(c)
			if err := c.settled(map[string]bool{"m": true}); err != nil {
				t.Fatalf("before: %v", err)
			}
			tc.spoil(c)
			live := map[string]bool{"m": true}
			if len(c.holds) > 1 {
				live["n"] = true
			}
			var said []string
			for _, err := range []error{c.verdict(), c.settled(live)} {
				if err != nil {
					said = append(said, err.Error())
				}
			}
			if all := strings.Join(said, "\n"); all == "" || !strings.Contains(all, tc.want) {
				t.Errorf("said %q, want %q", all, tc.want)
			}
		})
	}
}
