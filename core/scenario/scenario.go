package scenario

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the outputs of the scenarios into their files")

// Play plays every testdata/*.txt of the package under test. play gets the text of a
// file and gives it back with the outputs it has now; it begins anew each time.
func Play(t *testing.T, play func(t *testing.T, text string) string) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("scenarios: %v, %d files", err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			Golden(t, file, play(t, string(want)))
		})
	}
}

// Golden holds a text to what is in a file, or with -rewrite writes it there.
func Golden(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (see it with -rewrite and git diff):\n%s", file, got)
	}
}

// Blocks runs the commands of blocks and gives the text back with what they printed.
func Blocks(text string, printed *strings.Builder, run func(line string)) string {
	var out strings.Builder
	inOutput := false
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case line == "----":
			inOutput = true
			out.WriteString("----\n" + printed.String())
			printed.Reset()
		case line == "":
			inOutput = false
			out.WriteString("\n")
		case inOutput:
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		default:
			out.WriteString(line + "\n")
			run(line)
		}
	}
	return out.String()
}

// Steps runs the commands of steps, split into words, and gives the text back with what
// they printed.
func Steps(text string, printed *strings.Builder, run func(words []string)) string {
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
			printed.WriteString(line)
		case strings.HasPrefix(line, "> "):
			printed.WriteString(line)
			run(strings.Fields(line[2:]))
		}
	}
	return printed.String()
}
