package controller

import (
	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/metrics"
)

// counts are what a leader has done, for /metrics.
type counts struct {
	fenced, unfenced, drained, full, elected, voters, failed *metrics.Counter
	pings, mute                                              *metrics.Counter
}

func newCounts(r *metrics.Registry) counts {
	decision := func(kind string) *metrics.Counter {
		return r.Counter("mortise_controller_decisions_total",
			"Decisions that this node made while it led: brokers fenced, taken back, drained and noted to be full or to have room again, elections of preferred leaders, changes of voters.", "kind", kind)
	}
	return counts{
		fenced: decision("fence"), unfenced: decision("unfence"), drained: decision("shutdown"), full: decision("full"),
		elected: decision("election"), voters: decision("voter"),
		failed: r.Counter("mortise_controller_failed_decisions_total", "Decisions that could not be made, and were tried again."),
		pings:  r.Counter("mortise_controller_pings_total", "Pings of brokers that there was doubt about."),
		mute:   r.Counter("mortise_controller_unanswered_pings_total", "Pings that were not answered."),
	}
}

// count counts an action that ended.
func (c *counts) count(a Action, err error) {
	if _, isPing := a.(Ping); isPing {
		c.pings.Add(1)
		if err != nil {
			c.mute.Add(1)
		}
		return
	}
	if err != nil {
		c.failed.Add(1)
		return
	}
	switch a := a.(type) {
	case VoterChange:
		c.voters.Add(1)
	case Decide:
		switch a.Command.(type) {
		case *metadata.FenceBroker:
			c.fenced.Add(1)
		case *metadata.UnfenceBroker:
			c.unfenced.Add(1)
		case *metadata.BeginShutdown:
			c.drained.Add(1)
		case *metadata.SetFull:
			c.full.Add(1)
		case *metadata.ElectLeaders:
			c.elected.Add(1)
		}
	}
}
