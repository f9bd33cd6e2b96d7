package golden

import (
	"fmt"
	"strconv"
	"strings"
)

// appendText writes a table for people and for parse.
func (t *Table) appendText(b *strings.Builder) {
	fmt.Fprintf(b, "\npartitioner %s\n", t.Partitioner)
	for i, n := range Counts() {
		fmt.Fprintf(b, "of %d: %s", n, t.digests[i])
		for _, at := range t.byChance[i] {
			fmt.Fprintf(b, " any:%d", at)
		}
		b.WriteByte('\n')
	}
	for _, key := range Keys()[:samples] {
		fmt.Fprintf(b, "key %s ->%s\n", show(key), t.shown[show(key)])
	}
}

// format is the file of a client's tables.
func format(all []*Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "client %s %s\n", all[0].Client, all[0].Version)
	for _, t := range all {
		t.appendText(&b)
	}
	return b.String()
}

// parse reads what format wrote.
func parse(text string) ([]*Table, error) {
	var all []*Table
	var client, version string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		kind, rest, _ := strings.Cut(line, " ")
		if kind == "client" {
			client, version, _ = strings.Cut(rest, " ")
			continue
		}
		if kind == "partitioner" {
			all = append(all, &Table{Client: client, Version: version, Partitioner: rest, shown: map[string]string{}})
			continue
		}
		if line == "" {
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("line %q before any partitioner", line)
		}
		if err := all[len(all)-1].parseLine(kind, rest); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
	}
	for _, t := range all {
		if len(t.digests) != len(Counts()) || len(t.shown) != samples {
			return nil, fmt.Errorf("partitioner %s: %d digests and %d keys, want %d and %d", t.Partitioner, len(t.digests), len(t.shown), len(Counts()), samples)
		}
	}
	return all, nil
}

func (t *Table) parseLine(kind, rest string) error {
	switch kind {
	case "of":
		words := strings.Fields(rest)
		if at := len(t.digests); len(words) < 2 || at >= len(Counts()) || words[0] != fmt.Sprintf("%d:", Counts()[at]) {
			return fmt.Errorf("want a digest for each of %d", Counts())
		}
		t.digests = append(t.digests, words[1])
		var chance []int
		for _, w := range words[2:] {
			at, err := strconv.Atoi(strings.TrimPrefix(w, "any:"))
			if err != nil {
				return err
			}
			chance = append(chance, at)
		}
		t.byChance = append(t.byChance, chance)
		return nil
	case "key":
		at := strings.LastIndex(rest, " ->")
		if at < 0 || len(strings.Fields(rest[at+3:])) != len(Counts()) {
			return fmt.Errorf("want a partition for each of %d", Counts())
		}
		t.shown[rest[:at]] = rest[at+3:]
		return nil
	}
	return fmt.Errorf("want of or key")
}
