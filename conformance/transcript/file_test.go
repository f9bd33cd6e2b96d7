package transcript

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFormatGivesTheSameText(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"../testdata/*.txt", "../testdata/*/*.txt"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Fatal("no transcripts found at", pattern)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(path, text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := f.Format(); !bytes.Equal(got, text) {
			t.Errorf("%s is not as the recorder writes it:\n%s", path, diff(string(text), string(got)))
		}
	}
}

func TestParseErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		">":                   "x.txt:1: a step without a name",
		"# a\n> Metadata":     "x.txt:2: step Metadata names no version",
		"< v1":                "x.txt:1: an answer without a step",
		"\n\n> Fetch v9..4\n": "x.txt:3: step Fetch names no version",
	} {
		_, err := Parse("x.txt", []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("Parse(%q): error %v, want %s", text, err, want)
		}
	}
}

func TestGroupJoinsEqualNeighbours(t *testing.T) {
	got := group([]int16{1, 2, 3, 4}, [][]string{{"a"}, {"a"}, {"b"}, {"a"}})
	if len(got) != 3 || got[0].from != 1 || got[0].to != 2 || got[1].from != 3 || got[2].from != 4 {
		t.Errorf("group: got %+v, want 1..2, 3, 4", got)
	}
}

func TestReplaceWordRespectsNumbers(t *testing.T) {
	if got := replaceWord("x-v1 x-v10 x-v1.", "-v1", "-V"); got != "x-V x-v10 x-V." {
		t.Errorf("replaceWord: got %q", got)
	}
}

// FuzzParse holds that any text is parsed or refused, and that what is parsed prints as text that parses to itself.
func FuzzParse(f *testing.F) {
	f.Add("> Metadata v0..13\n  {Topics: null}\n< v0 closed\n")
	f.Add("differs because\n> frame answer=Metadata/1\n  i16:3 \"x\n<\n  a: b\n")
	f.Add("> await\n< \n  \n")
	f.Fuzz(func(t *testing.T, text string) {
		first, err := Parse("fuzz", []byte(text))
		if err != nil {
			return
		}
		for _, b := range first.blocks {
			if b.step != nil && len(b.step.versions) > 1<<12 {
				return // Legal, and slow to print.
			}
		}
		once := first.Format()
		second, err := Parse("fuzz", once)
		if err != nil {
			t.Fatalf("what Format printed does not parse: %v\n%s", err, once)
		}
		if twice := second.Format(); !bytes.Equal(once, twice) {
			t.Fatalf("Format is not stable:\n%s", diff(string(once), string(twice)))
		}
	})
}

func TestDiffShowsWhatDiffers(t *testing.T) {
	got := diff("a\nb\nc\nd\ne", "a\nb\nX\nd\ne")
	if want := "    a\n    b\n  - c\n  + X\n    d\n    e\n"; got != want {
		t.Errorf("diff: got\n%swant\n%s", got, want)
	}
	if strings.Contains(diff("same", "same"), "-") {
		t.Error("diff of equal texts shows a difference")
	}
}
