package fileusers

import (
	"errors"
	"strings"
	"testing"
)

func TestPut(t *testing.T) {
	const commented = "# who may log in\nusers:\n  # the first\n  ann: # staff\n    password: \"$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC\"\n    groups: [staff]\n"
	cheap := Entry{Groups: []string{"g"}, NoScram: true, iterations: minIterations}
	for says, content := range map[string]string{
		"nothing": "", "a comment": "# soon\n", "null": "users:\n", "nobody": "users: {}\n", "commented": commented,
		"flow": `{users: {ann: {password: "$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC"}}}`,
	} {
		out, err := Put([]byte(content), "bob", "secret", cheap, false)
		if err != nil {
			t.Errorf("%s: %v", says, err)
			continue
		}
		all, err := parseFile(out)
		if err != nil || all.byName["bob"] == nil || !all.byName["bob"].password.matches([]byte("secret")) || all.byName["bob"].groups[0] != "g" {
			t.Errorf("%s: %v in\n%s", says, err, out)
		}
		if strings.Contains(content, "ann") && all.byName["ann"] == nil {
			t.Errorf("%s: the other user is gone:\n%s", says, out)
		}
		for _, comment := range []string{"# who may log in", "# the first", "# staff"} {
			if strings.Contains(content, comment) && !strings.Contains(string(out), comment) {
				t.Errorf("%s: %q is gone:\n%s", says, comment, out)
			}
		}
		if strings.Contains(string(out), "secret") {
			t.Errorf("%s: the password is there:\n%s", says, out)
		}
		if _, err := Put(out, "bob", "other", cheap, false); !errors.Is(err, ErrExists) {
			t.Errorf("%s: twice: %v", says, err)
		}
		again, err := Put(out, "bob", "other", cheap, true)
		if all, parsed := parseFile(again); err != nil || parsed != nil || !all.byName["bob"].password.matches([]byte("other")) || all.byName["bob"].password.matches([]byte("secret")) {
			t.Errorf("%s: replaced: %v", says, err)
		}
	}
	for says, c := range map[string]struct{ content, name, password string }{
		"a file that is wrong": {"users: [a]\n", "bob", "x"}, "another file": {"topics: {}\n", "bob", "x"},
		"no name": {"", "", "x"}, "everybody": {"", "*", "x"}, "no password": {"", "bob", ""},
	} {
		if _, err := Put([]byte(c.content), c.name, c.password, cheap, false); err == nil {
			t.Errorf("%s: taken", says)
		}
	}
}
