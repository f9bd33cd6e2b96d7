package admin

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// ErrNoNode says that no node of the id is registered.
var ErrNoNode = errors.New("no such node is registered")

// drainTimeout bounds the decision about a node.
const drainTimeout = 30 * time.Second

// Cluster is the answer of /v1/cluster: the cluster as this node knows it. It may be
// behind what others know; Index says how far it has come.
type Cluster struct {
	ClusterID  string            `json:"cluster_id"`
	Broker     int32             `json:"broker"` // who answers
	Index      uint64            `json:"index"`  // of the last change that it knows
	Raft       Raft              `json:"raft"`
	Gossip     *Gossip           `json:"gossip,omitempty"` // nil: the node is alone
	Nodes      []Node            `json:"nodes"`            // by id
	Partitions PartitionCounters `json:"partitions"`
}

// Raft is how the node's seat in the control plane is.
type Raft struct {
	State         string `json:"state"`  // leader, follower, candidate, nonvoter
	Leader        int32  `json:"leader"` // -1: none is known
	Term          uint64 `json:"term"`
	LastIndex     uint64 `json:"last_index"`
	CommitIndex   uint64 `json:"commit_index"`
	AppliedIndex  uint64 `json:"applied_index"`
	LastContactMS int64  `json:"last_contact_ms"` // with the leader; -1: not known
}

// Gossip is how the node sees the others by gossip.
type Gossip struct {
	Members   int  `json:"members"`
	Encrypted bool `json:"encrypted"`
	Keys      int  `json:"keys"`
	Health    int  `json:"health"` // of itself; 0 is best
}

// What a node can be.
const (
	NodeActive   = "active"
	NodeFenced   = "fenced"   // nothing is heard of it: it leads nothing
	NodeDraining = "draining" // it gives away what it leads
)

// Node is one node of the cluster.
type Node struct {
	ID             int32          `json:"id"`
	Rack           string         `json:"rack"`
	Epoch          int64          `json:"epoch"` // of its registration; -1: it is not registered
	State          string         `json:"state"`
	Full           bool           `json:"full"` // a log directory has no room: others lead where they can
	Voter          bool           `json:"voter"`
	Peer           string         `json:"peer"`             // where other nodes reach it
	Admin          string         `json:"admin"`            // its admin listener; empty: not known
	Gossip         string         `json:"gossip"`           // alive, suspect, dead, left, unknown
	HeartbeatAgeMS int64          `json:"heartbeat_age_ms"` // -1: only the leader knows
	Listeners      []NodeListener `json:"listeners"`
	Leaders        int            `json:"leaders"`   // partitions that it leads
	Preferred      int            `json:"preferred"` // partitions that it should lead
	Replicas       int            `json:"replicas"`
}

// NodeListener is where clients reach a node.
type NodeListener struct {
	Name string `json:"name"`
	Host string `json:"host"`
	Port int32  `json:"port"`
}

// PartitionCounters count the partitions of the cluster.
type PartitionCounters struct {
	Total           int `json:"total"`
	Offline         int `json:"offline"`          // nobody leads them
	UnderReplicated int `json:"under_replicated"` // not all replicas are in sync
	UnderMinISR     int `json:"under_min_isr"`    // acks=all is refused
	Reassigning     int `json:"reassigning"`
}

// drainAsk is the body of /v1/cluster/drain and /v1/cluster/undrain.
type drainAsk struct {
	Broker *int32 `json:"broker"`
}

// Drained is the answer to them.
type Drained struct {
	Broker  int32 `json:"broker"`
	Leaders int   `json:"leaders"` // partitions that it leads yet, as far as this node knows
}

// cluster answers /v1/cluster.
func (s *Server) cluster(w http.ResponseWriter, _ *http.Request) {
	if s.options.Cluster == nil {
		s.fail(w, http.StatusNotFound, "this broker does not tell of its cluster")
		return
	}
	s.reply(w, http.StatusOK, s.options.Cluster())
}

// drain answers /v1/cluster/drain and, with undo, /v1/cluster/undrain: a node gives
// away what it leads and gets nothing new, or is as the others again.
func (s *Server) drain(undo bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if status, why := s.refused(r); status != 0 {
			s.fail(w, status, why)
			return
		}
		if s.options.Drain == nil {
			s.fail(w, http.StatusNotFound, "this node is alone")
			return
		}
		ask, err := readAsk[drainAsk](r.Body)
		if err != nil || ask.Broker == nil {
			s.fail(w, http.StatusBadRequest, `the body is to be {"broker": ID}`)
			return
		}
		ctx, stop := context.WithTimeout(r.Context(), drainTimeout)
		defer stop()
		done, err := s.options.Drain(ctx, *ask.Broker, undo)
		switch {
		case errors.Is(err, ErrNoNode):
			s.fail(w, http.StatusNotFound, err.Error())
		case err != nil:
			s.options.Log.Warn("admin: a node was not drained", "node", *ask.Broker, "undo", undo, "from", r.RemoteAddr, "error", err)
			s.fail(w, http.StatusServiceUnavailable, err.Error())
		default:
			s.options.Log.Info("admin: node is drained", "node", *ask.Broker, "undo", undo, "from", r.RemoteAddr, "leads", done.Leaders)
			s.reply(w, http.StatusOK, done)
		}
	}
}
