package peer

import (
	"net"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

// refusedAgain is how often it is said that a node is not let in.
const refusedAgain = time.Minute

// sayRefused logs that a node was not let in. Nodes of another cluster that know this one
// by its address are of the cluster that it belonged to before it lost its disk, if it has.
func (p *Port) sayRefused(h *hello, from net.Addr, err error) {
	switch own := p.Cluster(); {
	case !p.saysAgain(h.from):
	case own != "" && h.cluster != "" && h.cluster != own:
		p.options.Log.Warn("peer port: a node of another cluster is not let in; if this node belonged to that one and lost its disk: stop it, empty its data folder, and start it with cluster.join",
			"node", h.from, "from", from, "error", err)
	default:
		p.options.Log.Info("peer port: not let in", "node", h.from, "from", from, "error", err)
	}
}

// saysAgain says whether it is to be logged that a node is not let in: of one that tries
// several times a second, once in refusedAgain. NoBroker stands for those of other builds,
// which are not known by their ids.
func (p *Port) saysAgain(id kafka.BrokerID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	last, said := p.refused[id]
	again := !said && len(p.refused) < heardMax || said && now.Sub(last) >= refusedAgain
	if again {
		p.refused[id] = now
	}
	return again
}
