package membership

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seeds")
	if err := os.WriteFile(file, []byte("# seeds\n\n 10.0.0.7:1 \nnodes:2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lookup := func(_ context.Context, name string) ([]string, error) {
		if name == "nodes" {
			return []string{"10.0.0.1", "fd00::1"}, nil
		}
		return nil, errors.New("no such host")
	}
	for _, c := range []struct {
		entries, want []string
		err           string
	}{
		{[]string{"10.0.0.1:9390", "[fd00::2]:1"}, []string{"10.0.0.1:9390", "[fd00::2]:1"}, ""},
		{[]string{"nodes:9390"}, []string{"10.0.0.1:9390", "[fd00::1]:9390"}, ""},
		{[]string{"@" + file, "nodes:2"}, []string{"10.0.0.7:1", "10.0.0.1:2", "[fd00::1]:2"}, ""},
		{[]string{"gone:1", "10.0.0.1:1"}, []string{"10.0.0.1:1"}, "gone:1: no such host"},
		{[]string{"nodes"}, nil, `"nodes" is not host:port`},
		{[]string{"@" + file + "x"}, nil, "no such file"},
	} {
		got, err := Resolve(t.Context(), c.entries, lookup)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.entries, got, c.want)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: error %v, want %q", c.entries, err, c.err)
		}
	}
}
