package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Format is how a command prints its result.
type Format string

// The formats of -o.
const (
	Text Format = "text"
	JSON Format = "json"
)

// String implements pflag.Value.
func (f *Format) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *Format) Type() string { return "text|json" }

// Set implements pflag.Value.
func (f *Format) Set(s string) error {
	if s != string(Text) && s != string(JSON) {
		return fmt.Errorf("%q is neither text nor json", s)
	}
	*f = Format(s)
	return nil
}

// Printer prints results in the format that was asked for.
type Printer struct {
	Out    io.Writer
	Format Format
}

// Value prints v as indented JSON, or calls text for people.
func (p Printer) Value(v any, text func(w io.Writer) error) error {
	if p.Format != JSON {
		return text(p.Out)
	}
	e := json.NewEncoder(p.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Table prints rows under a head with aligned columns.
func Table(w io.Writer, head []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// Exit codes, which scripts may rely on.
const (
	ExitOK      = 0 // done
	ExitFailure = 1 // the command ran and something is wrong
	ExitUsage   = 2 // the command line or the settings are wrong; nothing was done
)

// UsageError marks an error of the caller's command line or settings.
type UsageError struct{ Err error }

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

// ExitCode is the exit code that stands for an error.
func ExitCode(err error) int {
	var usage *UsageError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage):
		return ExitUsage
	}
	return ExitFailure
}

// Bytes shows a size for people, in powers of 1024.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, suffix := float64(n)/unit, 0
	for value >= unit && suffix < 4 {
		value, suffix = value/unit, suffix+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTP"[suffix])
}
