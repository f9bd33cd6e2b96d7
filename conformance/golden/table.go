package golden

import (
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/sdk/partitioner"
)

//go:embed testdata
var tables embed.FS

// Table is where one partitioner of one client puts Keys.
type Table struct {
	Client, Version, Partitioner string

	byChance [][]int           // for each of Counts: indexes of keys
	digests  []string          // for each of Counts
	shown    map[string]string // the first keys and their partitions, as text
}

// Load returns a client's table from those that were recorded.
func Load(client, partitioner string) (*Table, error) {
	text, err := tables.ReadFile("testdata/" + client + ".txt")
	if err != nil {
		return nil, err
	}
	all, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("testdata/%s.txt: %w", client, err)
	}
	for _, t := range all {
		if t.Partitioner == partitioner {
			return t, nil
		}
	}
	return nil, fmt.Errorf("testdata/%s.txt has no partitioner %s", client, partitioner)
}

// Compare asks a partitioner about Keys for each of Counts and says where it differs
// from the client. Where the client chooses by chance any partition will do, and
// partitioner.Any too.
func (t *Table) Compare(ctx context.Context, p partitioner.Partitioner) error {
	keys := Keys()
	for i, n := range Counts() {
		out, err := assign(ctx, p, keys, n)
		if err != nil {
			return fmt.Errorf("%d partitions: %w", n, err)
		}
		for at, to := range out {
			switch {
			case to >= n || to < 0 && to != partitioner.Any:
				return fmt.Errorf("%d partitions: key %s goes to %d", n, show(keys[at]), to)
			case slices.Contains(t.byChance[i], at):
				out[at] = partitioner.Any
			case to == partitioner.Any && n == 1:
				out[at] = 0
			}
		}
		if digest(out) != t.digests[i] {
			return fmt.Errorf("%d partitions: not where %s %s puts keys with %s: %s",
				n, t.Client, t.Version, t.Partitioner, t.difference(keys, i, out))
		}
	}
	return nil
}

// assign asks in as large questions as a broker may.
func assign(ctx context.Context, p partitioner.Partitioner, keys [][]byte, partitions int32) ([]int32, error) {
	all := make([]int32, 0, len(keys))
	for part := range slices.Chunk(keys, partitioner.MaxKeys) {
		out := make([]int32, len(part))
		if err := p.Assign(ctx, &partitioner.Request{Topic: "golden", Partitions: partitions, Keys: part}, out); err != nil {
			return nil, err
		}
		all = append(all, out...)
	}
	return all, nil
}

// difference names the first key that a table shows with another partition.
func (t *Table) difference(keys [][]byte, count int, out []int32) string {
	for at := range samples {
		want := strings.Fields(t.shown[show(keys[at])])
		if got := strconv.Itoa(int(out[at])); got != want[count] {
			return fmt.Sprintf("%s to %s, not %s", show(keys[at]), want[count], got)
		}
	}
	return "it differs in keys that the table does not show"
}

// NewTable makes a table of a client's answers: for each of Counts a partition for
// each of Keys.
func NewTable(client, version, name string, answers [][]int32) (*Table, error) {
	keys := Keys()
	if len(answers) != len(Counts()) {
		return nil, fmt.Errorf("%s: %d numbers of partitions, want %d", name, len(answers), len(Counts()))
	}
	t := &Table{Client: client, Version: version, Partitioner: name, shown: map[string]string{}}
	for i, n := range Counts() {
		if len(answers[i]) != len(keys) {
			return nil, fmt.Errorf("%s: %d answers for %d partitions, want %d", name, len(answers[i]), n, len(keys))
		}
		var chance []int
		for at, p := range answers[i] {
			if p == partitioner.Any {
				chance = append(chance, at)
			}
			if at < samples {
				t.shown[show(keys[at])] += " " + strconv.Itoa(int(p))
			}
		}
		t.byChance = append(t.byChance, chance)
		t.digests = append(t.digests, digest(answers[i]))
	}
	return t, nil
}

// show is a key as text.
func show(key []byte) string {
	if key == nil {
		return "null"
	}
	return strconv.Quote(string(key))
}

// digest is the SHA-256 of partitions as decimal lines.
func digest(partitions []int32) string {
	h := sha256.New()
	for _, p := range partitions {
		fmt.Fprintln(h, p)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
