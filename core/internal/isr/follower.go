package isr

import (
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// follower is how far one follower has come.
type follower struct {
	id    kafka.BrokerID
	epoch kafka.BrokerEpoch // of the broker that fetched last

	start     kafka.Offset // of its log; NoOffset: it has not fetched yet
	end       kafka.Offset // it has everything below; NoOffset: it has not fetched yet
	leaderEnd kafka.Offset // where the leader's log ended at the last fetch
	fetched   time.Time    // of the last fetch
	caughtUp  time.Time    // when it last had all that the leader had; zero: never

	member bool // of the committed ISR
	holds  bool // of the maximal ISR
}

// begin starts the follower's time anew with a leader epoch: a member of the ISR has
// the whole lag time to be heard of, any other has to catch up first.
func (f *follower) begin(leaderEnd kafka.Offset, now time.Time) {
	f.leaderEnd = leaderEnd
	f.fetched, f.caughtUp = time.Time{}, time.Time{}
	if f.member {
		f.fetched, f.caughtUp = now, now
	}
}

// progress notes a fetch. Under a steady load a follower never has the leader's end of
// this moment; who has the end of the fetch before was caught up at that time.
func (f *follower) progress(p Position, leaderEnd kafka.Offset, now time.Time) {
	switch {
	case p.End >= leaderEnd:
		f.caughtUp = later(f.caughtUp, now)
	case f.leaderEnd != kafka.NoOffset && p.End >= f.leaderEnd:
		f.caughtUp = later(f.caughtUp, f.fetched)
	}
	f.epoch, f.start, f.end = p.Epoch, p.Start, p.End
	f.leaderEnd, f.fetched = leaderEnd, now
}

// keepsUp reports whether the follower is in sync: it has everything, or had it not
// longer ago than lag.
func (f *follower) keepsUp(leaderEnd kafka.Offset, now time.Time, lag time.Duration) bool {
	return f.end == leaderEnd || !f.caughtUp.IsZero() && now.Sub(f.caughtUp) <= lag
}

// eligible reports whether the cluster would let the follower be in sync. One that has
// not been heard of may have lost its disk (KIP-903).
func (f *follower) eligible(r *Rules) bool {
	return f.epoch != noEpoch && r.Eligible(f.id, f.epoch)
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
