package fetcher

import (
	"bytes"
	"cmp"
	"log/slog"
	"time"

	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// Replica is a partition as a follower needs it: a *partition.Partition.
type Replica interface {
	TopicPartition() kafka.TopicPartition
	TopicID() kafka.TopicID
	// Offline is nil while the log can be used; the rest is not called otherwise.
	Offline() error
	StartOffset() kafka.Offset
	// FetchState is what to fetch with: the log end, the epoch of its last record
	// (NoLeaderEpoch: none) and the epoch of the present role.
	FetchState() (end kafka.Offset, lastEpoch, role kafka.LeaderEpoch)
	// AppendAsFollower appends whole batches that were fetched under a role, maybe
	// none, and takes over the leader's high watermark and log start. What the disk must
	// have before the next fetch, disk is told of.
	AppendAsFollower(b []byte, role kafka.LeaderEpoch, leaderHW, leaderStart kafka.Offset, disk *partition.Flush) (end kafka.Offset, err error)
	TruncateForDivergence(role, epoch kafka.LeaderEpoch, end kafka.Offset) error
	TruncateFully(role kafka.LeaderEpoch, to kafka.Offset) error
}

// Options are the parts of a Session. All are needed unless they say otherwise.
type Options struct {
	Self   kafka.BrokerID
	Epoch  func() kafka.BrokerEpoch // of this broker's registration
	Leader kafka.BrokerID
	Name   string                    // client id
	Config func() config.Replication // of this moment
	Log    *slog.Logger              // names the leader
	Stats  *Stats
	Quota  Quota // nil: nothing is throttled
}

// flightsMax is how many requests are out at most: one that waits at the leader, and
// one with what must not wait.
const flightsMax = 2

// key names a partition in a session.
type key struct {
	topic     kafka.TopicID
	partition int32
}

// Session is what is fetched from one leader over one connection. It belongs to one
// goroutine, does no I/O but the partitions' own, and waits for nothing but their disks.
type Session struct {
	o     Options
	parts map[key]*follower
	all   []*follower // the same, in a reproducible order

	dirty  []*follower // the leader must be told anew what is wanted of them
	forget []key       // that the leader's session has and should not
	asking []*follower // whose place in the leader's log is asked for
	rests  restHeap    // that wait for their time
	owed   []*follower // that the disk does not have yet what they appended of this answer

	id     int32 // the leader's session; 0: none
	epoch  int32 // of the next request in it; 0: a full one
	urgent bool  // something should not wait for the answer to what is out

	sent       uint64 // requests so far
	generation int    // of the session: a fault begins a new one
	flights    []flight
	refusals   int // of whole requests since the last good answer

	known   int // partitions in the leader's session, once it has the last request
	name    []byte
	request wire.FetchRequest
	names   names
	frame   []byte
}

// flight is one request that is out.
type flight struct {
	number     uint64
	generation int
	what       what
	full       bool
}

// what is a kind of request.
type what uint8

const (
	fetch   what = iota
	latest       // ListOffsets of the leader's log ends
	earlier      // ListOffsets of its log starts
)

// phase is where a follower is.
type phase uint8

const (
	fetching phase = iota
	resting        // until its time
	lost           // its end is not in the leader's log: where is the leader's end?
	behind         // it is before the leader's log: where does that start?
	failed         // until it is followed anew
	gone           // followed no longer
)

// follower is one partition of a session.
type follower struct {
	key
	replica Replica

	phase phase
	dirty bool // stands in Session.dirty
	known bool // the leader's session has it, with sent
	sent  wire.FetchRange
	in    uint64 // the request that sent went out with

	tries int       // faults since the last good answer
	until time.Time // of a rest
	index int       // in Session.rests; -1: not there
	at    int       // in Session.all

	lag  int64 // records behind the leader's high watermark; -1: not known
	disk partition.Flush
}

// NewSession makes a session that follows nothing yet.
func NewSession(o Options) *Session {
	return &Session{o: o, parts: map[key]*follower{}, name: []byte(o.Name)}
}

// Follow begins to fetch a partition, or begins anew after its role changed.
func (s *Session) Follow(r Replica) {
	k := key{r.TopicID(), r.TopicPartition().Partition}
	f := s.parts[k]
	if f == nil {
		f = &follower{key: k, index: -1, at: len(s.all), lag: -1}
		s.parts[k] = f
		s.all = append(s.all, f)
		s.o.Stats.Partitions.Add(1)
	}
	f.replica, f.tries = r, 0
	s.enter(f, fetching)
	s.touch(f)
	s.urgent = true
}

// Unfollow fetches a partition no longer.
func (s *Session) Unfollow(r Replica) {
	f := s.parts[key{r.TopicID(), r.TopicPartition().Partition}]
	if f == nil {
		return
	}
	s.enter(f, gone)
	s.setLag(f, -1)
	delete(s.parts, f.key)
	last := s.all[len(s.all)-1]
	s.all[f.at], last.at = last, f.at
	s.all[len(s.all)-1] = nil
	s.all = s.all[:len(s.all)-1]
	s.o.Stats.Partitions.Add(-1)
}

// Close lets go of every partition.
func (s *Session) Close() {
	for len(s.all) > 0 {
		s.Unfollow(s.all[len(s.all)-1].replica)
	}
}

// Len is how many partitions are followed.
func (s *Session) Len() int { return len(s.all) }

// Waits reports whether an answer is to come.
func (s *Session) Waits() bool { return len(s.flights) > 0 }

// Wake is when Next has something to send without an answer before; false: never.
func (s *Session) Wake() (time.Time, bool) {
	if len(s.rests) == 0 {
		return time.Time{}, false
	}
	return s.rests[0].until, true
}

// Disconnected says that the connection is gone, and the leader's session with it.
// Answers to what is out don't come.
func (s *Session) Disconnected() {
	s.flights = s.flights[:0]
	s.restart(0)
}

// enter moves a follower to another phase. What is not fetched leaves the leader's
// session.
func (s *Session) enter(f *follower, p phase) {
	if (f.phase == failed) != (p == failed) {
		s.o.Stats.failed(p == failed)
	}
	if f.phase == resting {
		s.rests.remove(f)
	}
	f.phase = p
	if p != fetching && f.known {
		s.forget = append(s.forget, f.key)
		f.known = false
		s.known--
	}
}

// touch has the leader told anew what is wanted of a follower.
func (s *Session) touch(f *follower) {
	if !f.dirty {
		f.dirty = true
		s.dirty = append(s.dirty, f)
	}
}

// restart begins a new session at the leader; id is the one that it may forget.
func (s *Session) restart(id int32) {
	s.id, s.epoch = id, 0
	s.generation++
	s.unknow()
}

// unknow says that the leader's session has nothing.
func (s *Session) unknow() {
	s.forget = s.forget[:0]
	s.known = 0
	for _, f := range s.all {
		f.known = false
		s.touch(f)
	}
}

// setLag notes how far a follower is behind.
func (s *Session) setLag(f *follower, lag int64) {
	s.o.Stats.Lag.Add(max(lag, 0) - max(f.lag, 0))
	f.lag = lag
}

// compareKey orders partitions so that those of a topic stand together.
func compareKey(a, b key) int {
	return cmp.Or(bytes.Compare(a.topic[:], b.topic[:]), cmp.Compare(a.partition, b.partition))
}

// compareKeys is compareKey for followers.
func compareKeys(a, b *follower) int { return compareKey(a.key, b.key) }
