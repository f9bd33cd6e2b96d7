//go:build unix

package host

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"
)

// TestLastWords reads what a process left in its pipe when the deadline of reading has
// passed before anybody could look: all that a pipe holds, and no more of who writes on.
func TestLastWords(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		closed bool
	}{
		"it has ended":       {"panic: last words\n", true},
		"a child holds on":   {"panic: last words\n", false},
		"nothing was left":   {"", false},
		"more than one read": {string(bytes.Repeat([]byte("line\n"), 800)), false},
	} {
		t.Run(name, func(t *testing.T) {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			defer write.Close()
			if _, err := io.WriteString(write, c.text); err != nil {
				t.Fatal(err)
			}
			if c.closed {
				write.Close()
			}
			if err := read.SetReadDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(&lastReader{File: read}); err != nil || string(text) != c.text {
				t.Errorf("%d bytes, %v, want %d", len(text), err, len(c.text))
			}
		})
	}
	t.Run("a child writes on", func(t *testing.T) {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		defer write.Close()
		if err := read.SetReadDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		r := &lastReader{File: read}
		line := bytes.Repeat([]byte("x"), 1<<10)
		n := 0
		for range 2 * lastMax / len(line) {
			if _, err := write.Write(line); err != nil {
				t.Fatal(err)
			}
			got, err := r.Read(line)
			if n += got; err == io.EOF {
				break
			}
		}
		if n != lastMax {
			t.Errorf("%d bytes were read, want %d", n, lastMax)
		}
	})
}
