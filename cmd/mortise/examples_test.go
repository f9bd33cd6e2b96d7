package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// mortiseLine is one call of mortise in a line of shell: its words, and what is
// piped or redirected into it.
type mortiseLine struct {
	args  []string
	piped string // the command before the pipe
	file  string // after <
}

// mortiseLines finds the calls of mortise in lines of shell. It knows as much of
// a shell as examples need: words, quotes, comments, variables before a command,
// pipes and <.
func mortiseLines(t *testing.T, text string) []mortiseLine {
	t.Helper()
	var found []mortiseLine
	for _, line := range strings.Split(text, "\n") {
		piped := ""
		for _, command := range splitUnquoted(line, '|') {
			words := shellWords(command)
			for len(words) > 0 && strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-") {
				words = words[1:]
			}
			if len(words) > 0 && (words[0] == "mortise" || words[0] == "./mortise") {
				found = append(found, mortiseCall(words[1:], piped))
			}
			piped = command
		}
	}
	return found
}

// mortiseCall takes redirections and what follows && out of the words.
func mortiseCall(words []string, piped string) mortiseLine {
	m := mortiseLine{piped: strings.TrimSpace(piped)}
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "&&":
			return m
		case words[i] == "<" && i+1 < len(words):
			i++
			m.file = words[i]
		default:
			m.args = append(m.args, words[i])
		}
	}
	return m
}

// splitUnquoted splits at sep outside of quotes.
func splitUnquoted(s string, sep byte) []string {
	var parts []string
	quote, from := byte(0), 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == sep:
			parts = append(parts, s[from:i])
			from = i + 1
		}
	}
	return append(parts, s[from:])
}

// shellWords splits a command into words, without their quotes; a comment ends
// it.
func shellWords(s string) []string {
	var words []string
	for _, word := range splitUnquoted(strings.ReplaceAll(s, "\t", " "), ' ') {
		if strings.HasPrefix(word, "#") {
			break
		}
		if word != "" {
			words = append(words, strings.NewReplacer(`'`, "", `"`, "").Replace(word))
		}
	}
	return words
}

// TestExamplesParse holds that the commands and flags of every example exist.
func TestExamplesParse(t *testing.T) {
	count := 0
	commands(newRoot(nil, io.Discard, io.Discard), func(c *cobra.Command) {
		text := c.Example
		if !c.HasParent() {
			text = c.Long
		}
		lines := mortiseLines(t, text)
		if c.Example != "" && !strings.Contains(c.CommandPath(), "completion") && len(lines) != len(strings.Split(c.Example, "\n")) {
			t.Errorf("%s: %d commands found in\n%s", c.CommandPath(), len(lines), c.Example)
		}
		for _, line := range lines {
			count++
			parses(t, line.args)
		}
	})
	if count < 25 {
		t.Errorf("only %d examples", count)
	}
}

// parses checks a command line by all that cobra checks before it runs.
func parses(t *testing.T, args []string) {
	t.Helper()
	root := newRoot(nil, io.Discard, io.Discard)
	root.InitDefaultCompletionCmd()
	c, rest, err := root.Find(args)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err == nil && c.HasSubCommands() && c.Example == "" { // with one it does something by itself
		err = wantsSubCommand(c, c.Flags().Args())
	}
	if err != nil {
		t.Errorf("mortise %s: %v", strings.Join(args, " "), err)
	}
}

func TestShellWords(t *testing.T) {
	lines := mortiseLines(t, `  A=1 mortise consume t -f '%T | %s' # why
seq 3 | mortise produce t && echo x
mortise produce u --key-separator : < users.txt`)
	if len(lines) != 3 {
		t.Fatalf("%q", lines)
	}
	if got := strings.Join(lines[0].args, "+"); got != "consume+t+-f+%T | %s" {
		t.Error(got)
	}
	if lines[1].piped != "seq 3" || strings.Join(lines[1].args, "+") != "produce+t" {
		t.Errorf("%q", lines[1])
	}
	if lines[2].file != "users.txt" || len(lines[2].args) != 4 {
		t.Errorf("%q", lines[2])
	}
}
