package controller

import (
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// leadsInterval bounds how often partitions are counted for a broker that stops.
const leadsInterval = 100 * time.Millisecond

// leads is whether a broker leads something that another could lead, of one image.
type leads struct {
	image   *meta.Image
	at      time.Time
	movable bool
}

// mayStop says whether a broker that wants to stop leads nothing that somebody else could
// lead: one that is fenced and stays so, or one in shutdown.
func (m *Machine) mayStop(now time.Time, b *meta.Broker, s *session) bool {
	if b.Fenced {
		return !s.deciding // else it may be taken back at this moment
	}
	if !b.ShuttingDown {
		return false
	}
	if s.leads.image != m.image && (s.leads.image == nil || now.Sub(s.leads.at) >= leadsInterval) {
		s.leads = leads{image: m.image, at: now, movable: leadsMovable(m.image, b.ID)}
	}
	return !s.leads.movable
}

// leadsMovable says whether a broker leads a partition that another in-sync replica in
// service could lead. Cost: a look at what has a replica on the broker.
func leadsMovable(image *meta.Image, id kafka.BrokerID) bool {
	for at := range image.PartitionsOn(id) {
		t, _ := image.TopicByID(at.Topic)
		p := &t.Partitions[at.Partition]
		if p.Leader != id {
			continue
		}
		for _, other := range p.ISR {
			if b, ok := image.Broker(other); ok && other != id && b.Active() {
				return true
			}
		}
	}
	return false
}
