package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// bytesMax bounds a password: longer than any person's, and than a broker takes.
const bytesMax = 4096

// ErrDiffer says that a person typed two different passwords.
var ErrDiffer = errors.New("the two passwords differ")

// Ask reads a password from in. A person at a terminal is asked on prompts, and sees
// nothing of what is typed; with twice it has to be typed twice. Anything else is read
// to its end, and is the password.
func Ask(in io.Reader, prompts io.Writer, what string, twice bool) (string, error) {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return read(in)
	}
	first, err := typed(f, prompts, what)
	if err != nil || !twice {
		return first, err
	}
	second, err := typed(f, prompts, what+" again")
	if err == nil && first != second {
		err = ErrDiffer
	}
	return first, err
}

// File reads the password that a file has.
func File(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	password, err := read(f)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return password, nil
}

// typed asks a person once.
func typed(f *os.File, prompts io.Writer, what string) (string, error) {
	fmt.Fprintf(prompts, "%s: ", what)
	text, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(prompts)
	if err != nil {
		return "", err
	}
	return check(text)
}

// read takes all of r for a password, but for the end of its one line.
func read(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, bytesMax+3))
	if err != nil {
		return "", err
	}
	return check(bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r")))
}

// check says whether a text is one that can be a password.
func check(text []byte) (string, error) {
	switch {
	case len(text) == 0:
		return "", errors.New("no password")
	case len(text) > bytesMax:
		return "", fmt.Errorf("a password of more than %d bytes", bytesMax)
	case bytes.ContainsAny(text, "\r\n\x00"):
		return "", errors.New("a password is one line without zero bytes")
	}
	return string(text), nil
}
