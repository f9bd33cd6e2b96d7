package kafka

import (
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestErrorNamesAreKafkas compares the names of all codes with those of a client.
func TestErrorNamesAreKafkas(t *testing.T) {
	if len(errorTexts) < 50 {
		t.Fatalf("%d codes have a name", len(errorTexts))
	}
	for code := range errorTexts {
		want := "NONE"
		var e *kerr.Error
		if err := kerr.ErrorForCode(int16(code)); errors.As(err, &e) {
			want = e.Message
		}
		if code == ErrNotLeaderOrFollower { // KIP-392 renamed it, the client did not
			want = "NOT_LEADER_OR_FOLLOWER"
		}
		if code.String() != want {
			t.Errorf("code %d is %s, clients call it %s", code, code, want)
		}
		if (code.Text() == "") != (code == None) {
			t.Errorf("%s: default text %q", code, code.Text())
		}
	}
	if got := ErrorCode(-77).String(); got != "ERROR_-77" {
		t.Errorf("a code that is none is %s", got)
	}
}

func TestErrorsCompareByCode(t *testing.T) {
	err := fmt.Errorf("append: %w", ErrOffsetOutOfRange.Err("offset 7"))
	if !errors.Is(err, ErrOffsetOutOfRange.Err("")) || errors.Is(err, ErrCorruptMessage.Err("offset 7")) {
		t.Errorf("%v does not compare by its code", err)
	}
	if got := ErrOffsetOutOfRange.Err("offset 7").Error(); got != "OFFSET_OUT_OF_RANGE: offset 7" {
		t.Errorf("it reads %q", got)
	}
}

func TestTopicIDs(t *testing.T) {
	for range 200 {
		id := NewTopicID()
		text := id.String()
		back, err := ParseTopicID(text)
		if err != nil || back != id || len(text) != 22 || text[0] == '-' || id[6]>>4 != 4 || id[8]>>6 != 2 {
			t.Fatalf("%x reads %s, and back %x: %v", id[:], text, back[:], err)
		}
	}
	if got := NoTopicID.String(); got != "AAAAAAAAAAAAAAAAAAAAAA" {
		t.Errorf("no id reads %s", got)
	}
	for _, bad := range []string{"", "AAAA", "AAAAAAAAAAAAAAAAAAAAA!", "AAAAAAAAAAAAAAAAAAAAAAAA"} {
		if id, err := ParseTopicID(bad); err == nil {
			t.Errorf("%q was read as %x", bad, id[:])
		}
	}
}
