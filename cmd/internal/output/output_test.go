package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1 << 20: "1.0 MiB", 1 << 50: "1.0 PiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	usage := fmt.Errorf("serve: %w", Usagef("no such flag"))
	for err, want := range map[error]int{nil: ExitOK, errors.New("disk"): ExitFailure, usage: ExitUsage} {
		if got := ExitCode(err); got != want {
			t.Errorf("ExitCode(%v) = %d, want %d", err, got, want)
		}
	}
}

func TestPrinterFormats(t *testing.T) {
	value := map[string]string{"name": "<a>"}
	text := func(w io.Writer) error { return Table(w, []string{"NAME"}, [][]string{{"<a>"}}) }
	for format, want := range map[Format]string{
		Text: "NAME\n<a>\n",
		JSON: "{\n  \"name\": \"<a>\"\n}\n",
	} {
		var out bytes.Buffer
		if err := (Printer{&out, format}).Value(value, text); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s: %q, want %q", format, out.String(), want)
		}
	}
}
