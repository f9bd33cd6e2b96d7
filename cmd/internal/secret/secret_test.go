package secret

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsAPassword(t *testing.T) {
	long := strings.Repeat("x", bytesMax)
	for text, want := range map[string]string{
		"a": "a", "a b\n": "a b", "ä\r\n": "ä", " a ": " a ", long: long, long + "\r\n": long,
	} {
		path := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		piped, err := Ask(strings.NewReader(text), io.Discard, "", true)
		if err != nil || piped != want {
			t.Errorf("%.20q: %.20q, %v", text, piped, err)
		}
		if filed, err := File(path); err != nil || filed != want {
			t.Errorf("%.20q in a file: %.20q, %v", text, filed, err)
		}
	}
	for _, text := range []string{"", "\n", "a\nb", "a\n\n", "a\x00", long + "y", long + "\r\n\n"} {
		if got, err := Ask(strings.NewReader(text), io.Discard, "", false); err == nil {
			t.Errorf("%.20q: taken as %.20q", text, got)
		}
	}
	if _, err := File(filepath.Join(t.TempDir(), "nosuch")); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("no file: %v", err)
	}
}
