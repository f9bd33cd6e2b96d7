package coordinator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
)

// answers collects what is answered, as "name:error".
type answers struct{ got []string }

// ticket is a ticket of one request.
type ticket struct {
	all  *answers
	name string
}

func (t ticket) Answer(m kmsg.Response) {
	t.all.got = append(t.all.got, fmt.Sprintf("%s:%s", t.name, kafka.ErrorCode(m.(*kmsg.HeartbeatResponse).ErrorCode)))
}

// reply is an answer to a request of that name.
func (a *answers) reply(name string) []group.Reply {
	return []group.Reply{{To: ticket{a, name}, Message: kmsg.NewPtrHeartbeatResponse()}}
}

// take is what was answered since the last call.
func (a *answers) take() string {
	got := strings.Join(a.got, " ")
	a.got = nil
	return got
}

// TestAnswersWaitForWhatTheyDependOn: an answer goes out when the log is committed as
// far as the answer saw it, or is given up in its time; what was given up is still
// waited for by those who come later.
func TestAnswersWaitForWhatTheyDependOn(t *testing.T) {
	s := &shard{c: &Coordinator{o: Options{Config: func() Config { return Config{WriteTimeoutMS: 100} }}}}
	var a answers
	s.hold(0, 10, a.reply("write10"))
	s.hold(0, 10, a.reply("read10"))
	s.hold(50, 10, a.reply("later10"))
	s.hold(50, 20, a.reply("write20"))
	if due, ok := s.due(); !ok || due != 100 {
		t.Errorf("due at %d, %v; want 100", due, ok)
	}
	send(s.release(9))
	if got := a.take(); got != "" {
		t.Errorf("below 10 there were answers: %q", got)
	}
	send(s.late(100))
	if got, want := a.take(), "write10:COORDINATOR_NOT_AVAILABLE read10:COORDINATOR_NOT_AVAILABLE"; got != want {
		t.Errorf("after their time: %q, want %q", got, want)
	}
	send(s.release(10))
	if got, want := a.take(), "later10:NONE"; got != want {
		t.Errorf("at 10: %q, want %q", got, want)
	}
	send(s.late(1000))
	if got, want := a.take(), "write20:COORDINATOR_NOT_AVAILABLE"; got != want {
		t.Errorf("after its time: %q, want %q", got, want)
	}
	if _, ok := s.due(); ok || len(s.held) != 1 {
		t.Fatalf("%+v are held, want the end that nobody waits for", s.held)
	}
	s.hold(1000, s.held[0].end, a.reply("read20"))
	send(s.release(20))
	if got, want := a.take(), "read20:NONE"; got != want || len(s.held) != 0 {
		t.Errorf("at 20: %q, want %q and nothing held, have %+v", got, want, s.held)
	}
}

// TestHeldEndsDoNotPileUp: a log that is not committed for long costs no memory for
// those who gave up.
func TestHeldEndsDoNotPileUp(t *testing.T) {
	s := &shard{c: &Coordinator{o: Options{Config: func() Config { return Config{WriteTimeoutMS: 100} }}}}
	var a answers
	for i := range int64(1000) {
		s.hold(i, kafka.Offset(i), a.reply("x"))
		send(s.late(i))
	}
	if len(s.held) > 102 {
		t.Errorf("%d are held, want no more than come within the time-out", len(s.held))
	}
}

// TestWaitsDoNotPileUp: a log that is not committed for long has a bounded number of them,
// and the answers beyond that go out all the same.
func TestWaitsDoNotPileUp(t *testing.T) {
	s := &shard{c: &Coordinator{o: Options{Config: func() Config { return Config{WriteTimeoutMS: 100} }}}}
	var a answers
	s.hold(0, 1, a.reply("first"))
	s.hold(0, 2, a.reply("second"))
	s.hold(0, 3, a.reply("third"))
	s.awaits = awaitsMax
	s.await(3) // it would need the partition that the shard does not have
	s.awaits = 1
	ready, next := s.reached(1)
	send(ready)
	if got := a.take(); got != "first:NONE" || next != 3 || s.awaits != 1 {
		t.Errorf("at 1: %q, then it waits for %d with %d waits; want the first, and one wait for 3", got, next, s.awaits)
	}
	ready, next = s.reached(3)
	send(ready)
	if got := a.take(); got != "second:NONE third:NONE" || next != kafka.NoOffset || s.awaits != 0 {
		t.Errorf("at 3: %q, then it waits for %d with %d waits; want the rest, and no wait", got, next, s.awaits)
	}
}
