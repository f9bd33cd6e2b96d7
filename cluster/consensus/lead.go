package consensus

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// foundingLength is how many characters of 6 bits tell two clusters of one id apart.
const foundingLength = 8

// leaderLook is how often one who waits for a leader looks.
const leaderLook = 20 * time.Millisecond

// Leader is who decides, as far as this node knows (NoBroker: nobody), and whether
// that is this node.
func (g *Group) Leader() (id kafka.BrokerID, mine bool) {
	_, name := g.raft.LeaderWithID()
	id, err := nodeOf(name)
	if err != nil {
		return kafka.NoBroker, false
	}
	if id != g.options.NodeID {
		return id, false
	}
	if g.raft.State() != raft.Leader { // it was until now
		return kafka.NoBroker, false
	}
	return id, true
}

// Leads says whether this node decides and its image has everything that was decided
// before.
func (g *Group) Leads() bool { return g.leads.Load() }

// Leadership tells one reader whether this node leads: true when Leads has become so,
// false when that ended. Who reads late gets the newest answer only.
func (g *Group) Leadership() <-chan bool { return g.leadership }

// replace makes v what the next reader of a channel with room for one gets. It has one
// caller for each channel.
func replace(c chan bool, v bool) {
	select {
	case <-c:
	default:
	}
	c <- v
}

// hear takes raft's notices at once: raft waits for that.
func (g *Group) hear() {
	defer g.running.Done()
	for {
		select {
		case <-g.quit:
			return
		case leads := <-g.leading:
			if !leads {
				g.seat.release()
			}
			replace(g.led, leads)
		}
	}
}

// lead makes a lone voter leader at once and sees to what a new leader does: its image
// becomes complete, a new cluster gets its id. It is the owner of ready.
func (g *Group) lead() {
	defer g.running.Done()
	once := sync.OnceFunc(func() { close(g.ready) })
	current := g.alone // the image has everything that was decided before this term
	if g.alone {
		if err := g.seat.standNow(g.serverAddress()); err != nil {
			g.options.Log.Info("control: the election waits for its timeout", "error", err)
		}
	} else if g.enter() {
		go func() {
			defer g.running.Done()
			switch err := g.follow(); {
			case err == nil:
				once()
			case isFinal(err):
				g.why = err
				close(g.barred)
			}
		}()
	}
	for {
		select {
		case <-g.quit:
			return
		case leads := <-g.led:
			g.leads.Store(false) // also when an end and a new beginning came as one
			if !leads {
				replace(g.leadership, false)
				continue
			}
			if (current || g.complete()) && g.begin() {
				g.leads.Store(true)
				once()
				replace(g.leadership, true)
			}
			current = false
		}
	}
}

// complete brings the image of a new leader up to everything that was decided before.
func (g *Group) complete() bool {
	err := g.raft.Barrier(enqueueWait).Error()
	if err != nil {
		g.options.Log.Info("control: lost the leadership at once", "error", err)
	}
	return err == nil
}

// begin gives a new cluster its id and feature levels; it reports whether the
// cluster has them.
func (g *Group) begin() bool {
	if g.Image().ClusterID != "" {
		return true
	}
	c := &metadata.Bootstrap{ClusterID: g.options.ClusterID, Features: map[string]int16{}}
	if c.ClusterID == "" {
		c.ClusterID = kafka.NewTopicID().String()
	} else {
		c.Founding = kafka.NewTopicID().String()[:foundingLength]
	}
	for _, f := range meta.SupportedFeatures() {
		if f.Initial > 0 {
			c.Features[f.Name] = f.Initial
		}
	}
	b, err := metadata.EncodeCommand(c)
	if err == nil {
		_, err = g.commit(b)
	}
	if err != nil {
		g.options.Log.Error("control: the new cluster's id could not be written", "error", err)
		return false
	}
	if port := g.options.Port; port != nil {
		port.SetCluster(g.Image().Identity())
	}
	return true
}

// follow brings the image of a member up to that of the leader for the first time.
func (g *Group) follow() error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		select {
		case <-g.quit:
			stop()
		case <-ctx.Done():
		}
	}()
	return g.CatchUp(ctx)
}
