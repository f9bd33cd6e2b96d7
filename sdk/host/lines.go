package host

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode"
	"unicode/utf8"
)

// MaxLineBytes is where a line of a plugin's output is cut. What follows until the
// line's end is dropped.
const MaxLineBytes = 16 << 10

// eachLine calls f with each line of r, cut after MaxLineBytes, until r ends. It does not
// stop reading before: a process whose pipe stays full would hang.
func eachLine(r io.Reader, f func(line []byte)) {
	buffered := bufio.NewReaderSize(r, MaxLineBytes)
	rest := false // what comes next belongs to a line that was cut
	for {
		line, err := buffered.ReadSlice('\n')
		cut := errors.Is(err, bufio.ErrBufferFull)
		if !rest && len(line) > 0 {
			f(bytes.TrimRight(line, "\r\n"))
		}
		rest = cut
		if err != nil && !cut {
			return
		}
	}
}

// clean makes a line harmless for terminals and logs, in place: control characters
// and bytes that are not UTF-8 become question marks.
func clean(line []byte) []byte {
	for i := 0; i < len(line); {
		c, size := utf8.DecodeRune(line[i:])
		if (c == utf8.RuneError && size == 1) || (unicode.IsControl(c) && c != '\t') {
			for j := range size {
				line[i+j] = '?'
			}
		}
		i += size
	}
	return line
}
