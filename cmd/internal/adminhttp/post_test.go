package adminhttp

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPost(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) //nolint:errcheck // what is missing is seen below
		switch {
		case r.URL.Path == "/html":
			w.Write([]byte("<html>")) //nolint:errcheck // the test reads it
		case r.URL.Path == "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("Authorization") != "Bearer t" || string(body) != `{"N":2}`:
			w.WriteHeader(http.StatusUnauthorized)
			w.Write([]byte(`{"error":"no token"}`)) //nolint:errcheck // the test reads it
		default:
			w.Write([]byte(`{"n":3}`)) //nolint:errcheck // the test reads it
		}
	}))
	defer s.Close()
	for _, c := range []struct {
		address, path, token string
		want                 int
		text                 string
	}{
		{s.URL, "/ok", "t", 3, ""}, {s.URL, "/ok", "u", 0, "no token"}, {s.URL, "/html", "t", 0, "is no admin listener"},
		{s.URL, "/broken", "t", 0, "answers 500"}, {"127.0.0.1:1", "/ok", "t", 0, "refused"}, {"a b", "/ok", "t", 0, `admin address "a b"`},
	} {
		p, err := Post[page](t.Context(), c.address, c.path, c.token, page{2})
		if p.N != c.want || (err == nil) != (c.text == "") || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s %s: %d, %v; want %d, %q", c.address, c.path, p.N, err, c.want, c.text)
		}
	}
	_, err := Post[page](t.Context(), s.URL, "/ok", "u", page{2})
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
		t.Errorf("%v, want a RefusedError", err)
	}
}
