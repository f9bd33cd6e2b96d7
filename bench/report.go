package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// row makes a line of what both sides showed.
func (s scenario) row(results []result) row {
	r := row{name: s.name, target: s.target, ours: s.show(results[0])}
	if len(results) < 2 {
		return r
	}
	r.theirs = s.show(results[1])
	r.ratio = fmt.Sprintf("%.2f×", s.figure(results[0])/s.figure(results[1]))
	if s.bigger && results[0].bytes > 0 {
		r.ratio += fmt.Sprintf(", %.2f× CPU", cpuPerGiB(results[0])/cpuPerGiB(results[1]))
	}
	return r
}

// lifeRows are the lines of the lifecycle, in a fixed order.
func lifeRows(measures []map[string]measure, many int) []row {
	names := []struct{ name, target string }{
		{"start to first accepted produce, data exists", "≤ 0.15 s"},
		{"idle, 12 partitions: anonymous memory", "≤ 30 MiB"},
		{fmt.Sprintf("create %d partitions (slowest of 10)", many), "≤ 0.5 s"},
		{fmt.Sprintf("10 × %d idle partitions: anonymous memory", many), "≤ 100 MiB"},
		{fmt.Sprintf("10 × %d partitions: restart to first produce", many), "≤ 2 s"},
	}
	var rows []row
	for _, n := range names {
		ours := measures[0][n.name]
		r := row{name: n.name, target: n.target, ours: ours.text}
		if len(measures) > 1 {
			theirs := measures[1][n.name]
			r.theirs, r.ratio = theirs.text, fmt.Sprintf("%.3f×", ours.value/theirs.value)
		}
		rows = append(rows, r)
	}
	return rows
}

// table prints rows as Markdown.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| workload | Mortise | Kafka 4.4 | Mortise / Kafka | target |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.name, r.ours, r.theirs, r.ratio, r.target)
	}
	return b.String()
}

// warmPageCache writes a large file and leaves it: memory of a virtual machine
// is dear at its first touch, and this touches it for everybody.
func warmPageCache(dir string, size int) (string, error) {
	name := filepath.Join(dir, "page-cache")
	f, err := os.Create(name)
	if err != nil {
		return name, err
	}
	defer f.Close()
	block := make([]byte, 4*mib)
	for range size * gib / len(block) {
		if _, err := f.Write(block); err != nil {
			return name, err
		}
	}
	return name, nil
}
