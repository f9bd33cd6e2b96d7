package cluster

import (
	"context"
	"log/slog"
	"time"

	"github.com/mortisemq/mortise/cluster/membership"
	"github.com/mortisemq/mortise/core/kafka"
)

// pluginLook is how often a node looks whether it has other plugins than its neighbours.
const pluginLook = 30 * time.Second

// pluginSets notices nodes that have other plugins than this one: a rule that is
// decided in one way here and in another there is found out by its users else.
type pluginSets struct {
	log    *slog.Logger
	differ map[kafka.BrokerID]difference
}

// difference is how a node differs from this one.
type difference struct {
	own, its uint64
	said     bool
}

// look compares. A difference is told at the second look, because nodes are changed one
// after the other, and once.
func (p *pluginSets) look(own uint64, members []membership.Member) {
	for _, m := range members {
		if m.State != membership.Alive || m.Plugins == own || m.Plugins == 0 || own == 0 {
			delete(p.differ, m.ID)
			continue
		}
		now := difference{own: own, its: m.Plugins}
		before, seen := p.differ[m.ID]
		now.said = before.said && before.own == own && before.its == m.Plugins
		if seen && !now.said {
			now.said = true
			p.log.Warn("a node serves with other plugins than this one: compare /v1/plugins of both", "node", m.ID, "admin", m.Admin)
		}
		p.differ[m.ID] = now
	}
}

// watchPlugins tells the others which plugins this node has, and compares, until ctx
// ends.
func (h *neighbourhood) watchPlugins(ctx context.Context, set func() uint64) {
	sets := pluginSets{log: h.log, differ: map[kafka.BrokerID]difference{}}
	for {
		own := set()
		if own != h.gossip.Facts().Plugins {
			if err := h.gossip.Update(func(f *membership.Facts) { f.Plugins = own }); err != nil {
				h.log.Warn("the others can't be told of this node's plugins", "error", err)
			}
		}
		sets.look(own, h.gossip.Members())
		select {
		case <-ctx.Done():
			return
		case <-time.After(pluginLook):
		}
	}
}
