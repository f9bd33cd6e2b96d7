package cluster

import (
	"time"

	"github.com/mortisemq/mortise/cluster/consensus"
	"github.com/mortisemq/mortise/cluster/membership"
	"github.com/mortisemq/mortise/core/metrics"
)

// measure shows the state of the control plane and of gossip on /metrics.
func (n *Node) measure(r *metrics.Registry) {
	status := func(name, help string, f func(s *consensus.Status) float64) {
		r.GaugeFunc("mortise_consensus_"+name, help, func() float64 {
			s := n.group.Status()
			return f(&s)
		})
	}
	status("leader", "1: this node leads the control plane.", func(s *consensus.Status) float64 { return truth(s.State == "leader") })
	status("term", "Term of the control plane; each election begins a new one.", func(s *consensus.Status) float64 { return float64(s.Term) })
	status("commit_index", "Index of the last decision that this node knows to be final.", func(s *consensus.Status) float64 { return float64(s.CommitIndex) })
	status("applied_index", "Index of the last decision in this node's image.", func(s *consensus.Status) float64 { return float64(s.AppliedIndex) })
	status("voters", "Nodes that vote on decisions.", func(s *consensus.Status) float64 {
		voters := 0
		for _, m := range s.Members {
			voters += int(truth(m.Voter))
		}
		return float64(voters)
	})
	status("contact_age_seconds", "Since this node last heard of the leader; -1: never.", func(s *consensus.Status) float64 {
		return contactAge(s.LastContact)
	})
	if n.others != nil {
		n.others.measure(r)
	}
}

// measure shows the state of gossip.
func (h *neighbourhood) measure(r *metrics.Registry) {
	const help = "Other nodes, by how gossip saw them last."
	for _, s := range []membership.State{membership.Alive, membership.Dead, membership.Left} {
		r.GaugeFunc("mortise_membership_nodes", help, func() float64 {
			all := 0
			for _, m := range h.gossip.Members() {
				all += int(truth(m.State == s))
			}
			return float64(all)
		}, "state", s.String())
	}
	r.GaugeFunc("mortise_membership_health_score", "How late this node answers gossip; 0: in time.",
		func() float64 { return float64(h.gossip.Health().Score) })
}

// contactAge is a time since the leader was heard, in seconds; -1: never.
func contactAge(d time.Duration) float64 {
	if d < 0 {
		return -1
	}
	return d.Seconds()
}

// truth is 1 for what is so.
func truth(so bool) float64 {
	if so {
		return 1
	}
	return 0
}
