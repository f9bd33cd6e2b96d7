package plugin

import (
	"log/slog"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	type settings struct {
		Bytes int64  `json:"bytes"`
		Name  string `json:"name"`
	}
	for config, want := range map[string]settings{
		``:                         {Bytes: 7},
		` `:                        {Bytes: 7},
		`{}`:                       {Bytes: 7},
		`{"name":"a"}`:             {Bytes: 7, Name: "a"},
		`{"bytes":1,"name":"a"}  `: {Bytes: 1, Name: "a"},
	} {
		got := settings{Bytes: 7}
		if err := Decode([]byte(config), &got); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", config, got, err, want)
		}
	}
	for config, want := range map[string]string{
		`{"size":1}`:     `unknown field "size"`,
		`{"bytes":"1"}`:  "settings.bytes",
		`{"bytes":1.5}`:  "settings.bytes",
		`[]`:             "array",
		`{"bytes":1`:     "EOF",
		`{} {}`:          "something follows",
		`{"name":"a"} x`: "something follows",
	} {
		if err := Decode([]byte(config), &settings{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", config, err, want)
		}
	}
}

func TestNoConfig(t *testing.T) {
	for _, good := range []string{``, `{}`} {
		if err := NoConfig([]byte(good)); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	if err := NoConfig([]byte(`{"a":1}`)); err == nil {
		t.Error("a setting passes where there are none")
	}
}

func TestLoggerIsNeverNil(t *testing.T) {
	own := slog.New(slog.DiscardHandler)
	if got := (Config{Log: own}).Logger(); got != own {
		t.Error("the instance's own logger is not used")
	}
	if got := (Config{}).Logger(); got != slog.Default() {
		t.Error("without one it is not the default")
	}
}
