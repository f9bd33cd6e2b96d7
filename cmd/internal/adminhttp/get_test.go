package adminhttp

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

type page struct{ N int }

func TestGet(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			w.Write([]byte(`{"n":3}`)) //nolint:errcheck // the test reads it
		case "/ill":
			w.WriteHeader(http.StatusServiceUnavailable)
			w.Write([]byte(`{"n":4}`)) //nolint:errcheck // the test reads it
		case "/html":
			w.Write([]byte("<html>")) //nolint:errcheck // the test reads it
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	hostPort := strings.TrimPrefix(s.URL, "http://")
	for _, c := range []struct {
		address, path string
		want          int
		text          string
	}{
		{s.URL, "/ok", 3, ""}, {hostPort, "/ok", 3, ""}, {s.URL + "/", "/ok", 3, ""}, {hostPort, "/ill", 4, ""},
		{hostPort, "/nosuch", 0, "no such page"}, {hostPort, "/html", 0, "is no admin listener"},
		{hostPort, "/broken", 0, "answers 500"}, {"127.0.0.1:1", "/ok", 0, "refused"}, {"a b", "/ok", 0, `admin address "a b"`},
	} {
		p, err := Get[page](t.Context(), c.address, c.path)
		if p.N != c.want || (err == nil) != (c.text == "") || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s %s: %d, %v; want %d, %q", c.address, c.path, p.N, err, c.want, c.text)
		}
	}
	all := Each[page](t.Context(), []string{hostPort, "127.0.0.1:1"}, "/ok")
	if len(all) != 2 || all[0].Page.N != 3 || all[0].Err != nil || all[1].Err == nil || all[1].Address != "127.0.0.1:1" {
		t.Errorf("%+v", all)
	}
	if _, err := Get[page](t.Context(), hostPort, "/nosuch"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}

func TestGuess(t *testing.T) {
	if got := Guess([]string{"a", "::1", "a"}); !slices.Equal(got, []string{"a:9644", "[::1]:9644"}) {
		t.Error(got)
	}
}
