package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The token is made once, only its owner reads it, and nothing that is no token is
// taken for one: an empty file must not let everybody in.
func TestAdminToken(t *testing.T) {
	dir := t.TempDir()
	first, path, err := adminToken(dir)
	if err != nil || len(first) != 2*tokenBytes || path != filepath.Join(dir, tokenName) {
		t.Fatal(first, path, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if again, _, err := adminToken(dir); err != nil || again != first {
		t.Errorf("%q after %q, %v", again, first, err)
	}
	if other, _, err := adminToken(t.TempDir()); err != nil || other == first {
		t.Errorf("%q of another directory, %v", other, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	for _, bad := range []string{"", "\n", "secret", first[1:], first + "0", strings.Replace(first, first[:1], "x", 1)} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if token, _, err := adminToken(dir); err == nil || token != "" {
			t.Errorf("%q: taken as %q", bad, token)
		}
	}
	if _, _, err := adminToken(filepath.Join(dir, "nosuch")); err == nil {
		t.Error("no directory: no error")
	}
}
