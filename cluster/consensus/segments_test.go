package consensus

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/hashicorp/raft"
)

// What a new leader takes back must not damage the log for the next start.
func TestLogOpensAfterItWasCutBack(t *testing.T) {
	dir := t.TempDir()
	log := newRaftLogger(slog.New(slog.DiscardHandler))
	s, err := openDir(dir, log)
	if err != nil {
		t.Fatal(err)
	}
	write := func(term uint64, from, to uint64) {
		t.Helper()
		var entries []*raft.Log
		for index := from; index <= to; index++ {
			entries = append(entries, &raft.Log{Index: index, Term: term, Data: fmt.Append(nil, term, index)})
		}
		if err := s.logs.StoreLogs(entries); err != nil {
			t.Fatal(err)
		}
	}
	reopen := func() {
		t.Helper()
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if s, err = openDir(dir, log); err != nil {
			t.Fatal(err)
		}
	}
	want := map[uint64]uint64{}
	for term := uint64(1); term <= 4; term++ { // each leader takes back two of the last one's
		from := term*3 - 2
		if term > 1 {
			if err := s.logs.DeleteRange(from, from+1); err != nil {
				t.Fatal(err)
			}
		}
		write(term, from, from+4)
		for index := from; index <= from+4; index++ {
			want[index] = term
		}
		reopen()
		if last, err := s.logs.LastIndex(); err != nil || last != from+4 {
			t.Fatalf("the log ends at %d %v, want %d", last, err, from+4)
		}
		for index, of := range want {
			var entry raft.Log
			if err := s.logs.GetLog(index, &entry); err != nil || entry.Term != of || string(entry.Data) != string(fmt.Append(nil, of, index)) {
				t.Errorf("term %d: entry %d is of term %d (%v), want %d", term, index, entry.Term, err, of)
			}
		}
	}
	if err := s.logs.DeleteRange(1, 7); err != nil { // as after a snapshot
		t.Fatal(err)
	}
	reopen()
	var entry raft.Log
	if err := s.logs.GetLog(8, &entry); err != nil || entry.Term != want[8] {
		t.Errorf("entry 8 after the head was cut: term %d %v", entry.Term, err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}
