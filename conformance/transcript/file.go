package transcript

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// File is a parsed transcript.
type File struct {
	Path    string
	Differs string // Why Mortise answers differently on purpose; empty for most.
	blocks  []block
}

// block is a step with its answers, or one line of anything else.
type block struct {
	line int    // Of its head, from 1.
	text string // The head, or the whole line of a comment, blank line or directive.
	step *step
}

// step is one request at one or more versions.
type step struct {
	name     string // A request's name, or frame, bytes, await.
	versions []int16
	options  map[string]string
	body     []string
	answers  []answer
}

// answer is what versions From to To of a step's request got.
type answer struct {
	from, to int16
	lines    []string
}

// Load reads and parses a transcript.
func Load(path string) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b)
}

// Parse reads a transcript. Errors name the line.
func Parse(path string, text []byte) (*File, error) {
	f := &File{Path: path}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var cur *step
	for i, l := range lines {
		var err error
		switch {
		case strings.HasPrefix(l, ">"):
			cur, err = parseStep(l)
			f.blocks = append(f.blocks, block{line: i + 1, text: l, step: cur})
		case strings.HasPrefix(l, "<"):
			if cur == nil {
				err = fmt.Errorf("an answer without a step")
				break
			}
			err = cur.parseAnswer(l)
		case strings.HasPrefix(l, "  ") && cur != nil:
			cur.addLine(l[2:])
		default:
			if reason, ok := strings.CutPrefix(l, "differs "); ok && i == 0 {
				f.Differs = reason
			}
			cur = nil
			f.blocks = append(f.blocks, block{line: i + 1, text: l})
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
	}
	return f, nil
}

func parseStep(l string) (*step, error) {
	words := strings.Fields(l[1:])
	if len(words) == 0 {
		return nil, fmt.Errorf("a step without a name")
	}
	s := &step{name: words[0], options: map[string]string{}}
	for _, w := range words[1:] {
		if from, to, ok := parseVersions(w); ok {
			for v := from; v <= to; v++ {
				s.versions = append(s.versions, v)
			}
			continue
		}
		k, v, _ := strings.Cut(w, "=")
		s.options[k] = v
	}
	switch s.name {
	case "frame", "bytes", "await":
		s.versions = []int16{0}
	}
	if len(s.versions) == 0 {
		return nil, fmt.Errorf("step %s names no version", s.name)
	}
	return s, nil
}

// parseVersions reads v3 or v1..11.
func parseVersions(w string) (from, to int16, ok bool) {
	w, ok = strings.CutPrefix(w, "v")
	if !ok {
		return 0, 0, false
	}
	a, b, ranged := strings.Cut(w, "..")
	n, err := strconv.ParseInt(a, 10, 16)
	if err != nil {
		return 0, 0, false
	}
	if !ranged {
		return int16(n), int16(n), true
	}
	m, err := strconv.ParseInt(b, 10, 16)
	return int16(n), int16(m), err == nil && m >= n
}

func (s *step) parseAnswer(l string) error {
	a := answer{from: s.versions[0], to: s.versions[len(s.versions)-1]}
	for _, w := range strings.Fields(l[1:]) {
		if from, to, ok := parseVersions(w); ok {
			a.from, a.to = from, to
		} else {
			a.lines = append(a.lines, w)
		}
	}
	s.answers = append(s.answers, a)
	return nil
}

func (s *step) addLine(l string) {
	if n := len(s.answers); n > 0 {
		s.answers[n-1].lines = append(s.answers[n-1].lines, l)
		return
	}
	if l = strings.TrimRight(l, " "); l != "" { // a line of nothing would print as the end of the step
		s.body = append(s.body, l)
	}
}

// want returns the recorded answer of a version.
func (s *step) want(version int16) (string, bool) {
	for _, a := range s.answers {
		if a.from <= version && version <= a.to {
			return strings.Join(a.lines, "\n"), true
		}
	}
	return "", false
}

// Format prints the transcript.
func (f *File) Format() []byte {
	var b bytes.Buffer
	for _, bl := range f.blocks {
		b.WriteString(bl.text + "\n")
		if bl.step != nil {
			bl.step.format(&b)
		}
	}
	return b.Bytes()
}

func (s *step) format(b *bytes.Buffer) {
	for _, l := range s.body {
		b.WriteString(strings.TrimRight("  "+l, " ") + "\n")
	}
	for _, a := range s.answers {
		b.WriteString("<")
		switch {
		case s.name == "frame" || s.name == "bytes" || s.name == "await":
		case a.from == a.to:
			fmt.Fprintf(b, " v%d", a.from)
		default:
			fmt.Fprintf(b, " v%d..%d", a.from, a.to)
		}
		if len(a.lines) == 1 && a.lines[0] != "" && !strings.ContainsAny(a.lines[0], " :") {
			b.WriteString(" " + a.lines[0] + "\n")
			continue
		}
		b.WriteString("\n")
		for _, l := range a.lines {
			b.WriteString("  " + l + "\n")
		}
	}
}

// group joins neighbouring versions that got the same answer.
func group(versions []int16, texts [][]string) []answer {
	var out []answer
	for i, v := range versions {
		if n := len(out); n > 0 && strings.Join(out[n-1].lines, "\n") == strings.Join(texts[i], "\n") {
			out[n-1].to = v
			continue
		}
		out = append(out, answer{from: v, to: v, lines: texts[i]})
	}
	return out
}
