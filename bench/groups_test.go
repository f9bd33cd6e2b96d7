package main

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestHeartbeatReadsTheError holds that a refused heartbeat counts as refused, of both
// protocols: the answers are not decoded.
func TestHeartbeatReadsTheError(t *testing.T) {
	classic, consumer := kmsg.NewPtrHeartbeatResponse(), kmsg.NewPtrConsumerGroupHeartbeatResponse()
	classic.Version, consumer.Version = 4, 1
	for code, want := range map[int16]bool{0: true, 27: false, 110: false} {
		classic.ErrorCode, consumer.ErrorCode = code, code
		for name, body := range map[string][]byte{"classic": classic.AppendTo(nil), "consumer": consumer.AppendTo(nil)} {
			ours, theirs := net.Pipe()
			m := &member{conn: ours, beat: []byte("beat")}
			go func() {
				// The pipe's other end is read below; its errors would show there.
				_, _ = theirs.Read(make([]byte, 4))
				answer := append([]byte{0, 0, 0, 0, 0}, body...)
				_, _ = theirs.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...))
			}()
			if got, err := m.heartbeat(make([]byte, 8)); got != want || err != nil {
				t.Errorf("%s heartbeat answered with %d is good: %v, %v, want %v", name, code, got, err, want)
			}
			_ = ours.Close()
		}
	}
}

func TestMemberRefusesLongAnswers(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() { _, _ = theirs.Write([]byte{0x7f, 0, 0, 0}) }()
	m := &member{conn: ours}
	if got, err := m.read(nil); err == nil {
		t.Errorf("an answer of 2 GB was taken: %d bytes", len(got))
	}
}

func TestGroupsLine(t *testing.T) {
	r := groupsRow{name: "5000 classic, 3 members each", beats: 150_000, elapsed: 30 * time.Second, cpu: 3 * time.Second, anonKiB: 2048, goroutines: 7}
	if got := r.line(); !strings.Contains(got, "5000/s, 0 refused | 10.0 % of a core, 20.0 µs each | 2 MiB") || !strings.Contains(got, "< 15 % ✓") {
		t.Errorf("line reads %s", got)
	}
	r.cpu *= 2
	if got := r.line(); !strings.Contains(got, "✗") {
		t.Errorf("20 %% of a core reads %s, want the target to be missed", got)
	}
}
