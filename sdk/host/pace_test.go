package host

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// endless is output without an end: the same byte again and again, for some time.
type endless struct {
	text  []byte
	until time.Time
	bytes int
}

// Read implements io.Reader.
func (e *endless) Read(b []byte) (int, error) {
	if !time.Now().Before(e.until) {
		return 0, io.EOF
	}
	n := copy(b, e.text)
	e.bytes += n
	return n, nil
}

// A process that writes without an end, in one line or in many, is read no faster than
// the broker can bear.
func TestEndlessOutputIsReadSlowly(t *testing.T) {
	const seconds = 3
	for name, text := range map[string]byte{"one line": 'x', "empty lines": '\n'} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out := &endless{text: bytes.Repeat([]byte{text}, MaxLineBytes), until: time.Now().Add(seconds * time.Second)}
				r := newProcess(Command{}, nil, "")
				lines := 0
				r.command.Stderr = func([]byte) { lines++ }
				r.readLogs(out)
				if most := outputBurst + seconds*outputRate + outputRate/50; out.bytes > most || out.bytes+lines*lineCost < most/2 {
					t.Errorf("%d bytes in %d lines were read in %d s, want no more than %d", out.bytes, lines, seconds, most)
				}
				// What was read when the process ended is told afterwards.
				if most := (outputBurst+seconds*outputRate+outputRate/50)/lineCost + MaxLineBytes; lines > most {
					t.Errorf("%d lines were told in %d s, want no more than %d", lines, seconds, most)
				}
			})
		})
	}
}

// What a process has left in its pipe when it ends does not keep the broker waiting.
func TestWhoReadsWaitsForNoDeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		begin := time.Now()
		time.AfterFunc(time.Second, p.end)
		p.spend(outputBurst)
		p.spend(outputBurst)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("it took %v, want a second", took)
		}
	})
}
