package consensus

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// quorumWait bounds how long Quorum waits for the leader's view.
const quorumWait = time.Second

// Quorum implements meta.Control. Only the leader knows how far the others are, so
// others ask it; when it does not answer, what they know is told: who the members are,
// and how far they are themselves.
func (g *Group) Quorum() meta.Quorum {
	ctx, stop := context.WithTimeout(context.Background(), quorumWait)
	defer stop()
	leader, mine := g.Leader()
	if !mine && leader != kafka.NoBroker {
		if q, err := g.quorumOf(ctx, leader); err == nil {
			return q
		}
	}
	return g.quorum()
}

// quorum is what this node knows.
func (g *Group) quorum() meta.Quorum {
	leader, mine := g.Leader()
	q := meta.Quorum{Leader: leader, LeaderEpoch: int32(g.raft.CurrentTerm()), HighWatermark: int64(g.raft.CommitIndex())}
	for _, s := range g.servers() {
		r, err := g.quorumReplica(s, mine)
		switch {
		case err != nil: // no id of ours
		case s.Suffrage == raft.Voter:
			q.Voters = append(q.Voters, r)
		default:
			q.Observers = append(q.Observers, r)
		}
	}
	return q
}

// quorumReplica is one member. A leader counts as caught up at this moment, as in
// Kafka.
func (g *Group) quorumReplica(s raft.Server, leads bool) (meta.QuorumReplica, error) {
	id, err := nodeOf(s.ID)
	if err != nil {
		return meta.QuorumReplica{}, err
	}
	r := meta.QuorumReplica{ID: id, LogEndOffset: -1}
	switch {
	case id == g.options.NodeID:
		r.LogEndOffset = int64(g.raft.LastIndex())
		if leads {
			r.LastFetch = time.Now()
			r.LastCaughtUp = r.LastFetch
		}
	case leads:
		if p := g.seat.of(s.ID); !p.heard.IsZero() {
			r.LogEndOffset, r.LastFetch, r.LastCaughtUp = int64(p.end), p.heard, p.caughtUp
		}
	}
	b, ok := g.Image().Broker(id)
	if ok && len(b.LogDirs) > 0 && g.options.Port != nil {
		r.DirectoryID = b.LogDirs[0]
	}
	if g.options.Port == nil {
		return r, nil
	}
	address, known := g.options.Port.Advertised(), true
	if id != g.options.NodeID {
		address, known = g.addressOf(id)
	}
	if host, port, err := net.SplitHostPort(address); known && err == nil {
		n, _ := strconv.ParseUint(port, 10, 16) // a name for a port says nothing to clients
		r.Host, r.Port = host, int32(n)
	}
	return r, nil
}

// quorumState is a quorum on its way between nodes.
type quorumState struct {
	Leader        kafka.BrokerID `cbor:"1,keyasint"`
	LeaderEpoch   int32          `cbor:"2,keyasint"`
	HighWatermark int64          `cbor:"3,keyasint"`
	Voters        []replicaState `cbor:"4,keyasint,omitempty"`
	Observers     []replicaState `cbor:"5,keyasint,omitempty"`
}

// replicaState is one member; times are in milliseconds of the epoch, 0: not known.
type replicaState struct {
	ID           kafka.BrokerID `cbor:"1,keyasint"`
	DirectoryID  kafka.TopicID  `cbor:"2,keyasint"`
	LogEndOffset int64          `cbor:"3,keyasint"`
	LastFetch    int64          `cbor:"4,keyasint"`
	LastCaughtUp int64          `cbor:"5,keyasint"`
	Host         string         `cbor:"6,keyasint"`
	Port         int32          `cbor:"7,keyasint"`
}

// quorumOf asks the leader.
func (g *Group) quorumOf(ctx context.Context, leader kafka.BrokerID) (meta.Quorum, error) {
	body, err := g.Call(ctx, leader, peer.KindQuorum, nil)
	if err != nil {
		return meta.Quorum{}, err
	}
	var s quorumState
	if err := decode(body, &s); err != nil {
		return meta.Quorum{}, err
	}
	q := meta.Quorum{Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, HighWatermark: s.HighWatermark}
	for _, r := range s.Voters {
		q.Voters = append(q.Voters, r.replica())
	}
	for _, r := range s.Observers {
		q.Observers = append(q.Observers, r.replica())
	}
	return q, nil
}

// answerQuorum is quorumOf's other side.
func (g *Group) answerQuorum(context.Context, []byte) ([]byte, error) {
	if !g.Leads() {
		return nil, kafka.ErrNotController.Err("")
	}
	q := g.quorum()
	s := quorumState{Leader: q.Leader, LeaderEpoch: q.LeaderEpoch, HighWatermark: q.HighWatermark}
	for _, r := range q.Voters {
		s.Voters = append(s.Voters, stateOf(r))
	}
	for _, r := range q.Observers {
		s.Observers = append(s.Observers, stateOf(r))
	}
	return encode(&s)
}

// stateOf and replica turn one form into the other.
func stateOf(r meta.QuorumReplica) replicaState {
	return replicaState{ID: r.ID, DirectoryID: r.DirectoryID, LogEndOffset: r.LogEndOffset,
		LastFetch: millis(r.LastFetch), LastCaughtUp: millis(r.LastCaughtUp), Host: r.Host, Port: r.Port}
}

func (s *replicaState) replica() meta.QuorumReplica {
	return meta.QuorumReplica{ID: s.ID, DirectoryID: s.DirectoryID, LogEndOffset: s.LogEndOffset,
		LastFetch: fromMillis(s.LastFetch), LastCaughtUp: fromMillis(s.LastCaughtUp), Host: s.Host, Port: s.Port}
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
