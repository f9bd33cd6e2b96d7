package host

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mortisemq/mortise/sdk"
)

func TestParseLine(t *testing.T) {
	for line, want := range map[string]string{
		"plain":                       "INFO plain []",
		"":                            "INFO  []",
		`{"@level":5}`:                `INFO {"@level":5} []`,
		`{"@level":5,"@message":"m"}`: "INFO m [@level=5]",
		`{"level":"WARN","msg":"m","n":3,"o":{"a":1},"s":"x"}`:                                  `WARN m [n=3 o={"a":1} s=x]`,
		`{"@level":"error","@message":"m","@timestamp":"2024-01-01T00:00:00Z","@module":"mod"}`: "ERROR m [@module=mod]",
		`{"level":"trace","msg":"m"}`:                                                           "DEBUG-4 m []",
		`{"level":"loud","msg":"m"}`:                                                            "INFO m []",
		`{"msg":["m"]}`:                                                                         `INFO {"msg":["m"]} []`,
		`{"msg":`:                                                                               `INFO {"msg": []`,
		`{"msg":"a\u001b[2Jb","x":"\u0007"}`:                                                    "INFO a?[2Jb [x=?]",
		`[1]`:                                                                                   `INFO [1] []`,
	} {
		l := ParseLine([]byte(line))
		if got := fmt.Sprint(l.Level, " ", l.Message, " ", l.Attrs); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestParseLineOfSDK reads what package sdk writes.
func TestParseLineOfSDK(t *testing.T) {
	var b bytes.Buffer
	slog.New(sdk.NewHandler(&b)).Error("it broke", "file", "x y", "n", 3)
	l := ParseLine(bytes.TrimSpace(b.Bytes()))
	if got := fmt.Sprint(l.Level, l.Message, l.Attrs); got != "ERRORit broke[file=x y n=3]" && got != "ERRORit broke[n=3 file=x y]" {
		t.Errorf("%q", got)
	}
}

// FuzzParseLine takes any line; what comes out is bounded.
func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`{"@level":5,"@message":{}}`))
	f.Add([]byte(`{"msg":"m","level":"INFO","x":[1,{"y":null}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		l := ParseLine(line)
		if len(l.Attrs) > maxAttributes || len(l.Message) > len(line)*3+1 {
			t.Fatalf("%d attributes, message of %d bytes", len(l.Attrs), len(l.Message))
		}
	})
}

// FuzzClean makes any line harmless without changing its length.
func FuzzClean(f *testing.F) {
	f.Add([]byte("\x1b[31m\xff\u0085ü\t"))
	f.Fuzz(func(t *testing.T, line []byte) {
		n := len(line)
		got := clean(line)
		if len(got) != n || !utf8.Valid(got) || strings.ContainsAny(string(got), "\x00\x1b\x7f\r\n") {
			t.Fatalf("%q", got)
		}
	})
}

func TestEachLine(t *testing.T) {
	long := strings.Repeat("x", 3*MaxLineBytes)
	var got []string
	eachLine(strings.NewReader("a\r\n\n"+long+"\nb\n"+long[:MaxLineBytes]+"\nend"), func(line []byte) { got = append(got, string(line)) })
	want := []string{"a", "", long[:MaxLineBytes], "b", long[:MaxLineBytes], "end"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%d lines: %.200q", len(got), got)
	}
}
