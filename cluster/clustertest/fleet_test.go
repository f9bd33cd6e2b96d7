package clustertest

import (
	"slices"
	"testing"
	"time"

	"github.com/mortisemq/mortise/cluster/controller"
	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// isrBatch is how many partitions a broker asks for in one command at most.
const isrBatch = 4096

// beatStep is how far a fleet's time goes at once.
const beatStep = 500 * time.Millisecond

// fleet is a large cluster without logs: the deciders are real, the brokers only send
// heartbeats, and say which replicas are in sync.
type fleet struct {
	t       *testing.T
	image   *meta.Image
	machine *controller.Machine
	now     time.Time
	steps   int
	brokers []member
	costs   *costs
}

// member is one broker of a fleet.
type member struct {
	up, stopping bool
	epoch        kafka.BrokerEpoch
}

// costs are what some changes took.
type costs struct {
	commands, bytes, largest int
	topics, partitions       int           // changed
	applying, deciding       time.Duration // of metadata, of the controller
}

func newFleet(t *testing.T, brokers, partitions, perTopic int) *fleet {
	f := &fleet{t: t, image: meta.Empty("fleet"), now: time.Unix(1000, 0), brokers: make([]member, brokers), costs: &costs{}}
	for id := range f.brokers {
		f.register(kafka.BrokerID(id), true)
	}
	f.costs = &costs{}
	for n := range partitions / perTopic {
		f.do(&metadata.CreateTopics{Seed: uint64(n), Topics: []metadata.NewTopic{{Name: "topic-" + time.Duration(n).String(),
			ID: kafka.TopicID{byte(n), byte(n >> 8), byte(n >> 16), 1}, PartitionCount: int32(perTopic), ReplicationFactor: 3}}})
	}
	return f
}

// lead begins the controller's work.
func (f *fleet) lead() {
	f.machine = controller.NewMachine(controller.Config{Self: 0, RebalanceInterval: time.Minute}, f.now, f.image)
	f.pass(5 * time.Second)
}

// register starts a broker.
func (f *fleet) register(id kafka.BrokerID, clean bool) {
	b := &f.brokers[id]
	b.epoch = f.do(&metadata.RegisterBroker{ID: id, CleanShutdown: clean, PreviousEpoch: b.epoch}).BrokerEpoch
	b.up, b.stopping = true, false
}

// do decides, as every node does with the same bytes.
func (f *fleet) do(c metadata.Command) metadata.Result {
	b, err := metadata.EncodeCommand(c)
	if err != nil {
		f.t.Fatal(err)
	}
	c, err = metadata.DecodeCommand(b)
	if err != nil {
		f.t.Fatal(err)
	}
	begin := time.Now()
	next, r := metadata.Apply(f.image, f.image.Index+1, c)
	f.costs.applying += time.Since(begin)
	f.costs.commands++
	f.costs.bytes += len(b)
	f.costs.largest = max(f.costs.largest, len(b))
	f.count(f.image, next)
	f.image = next
	if f.machine != nil {
		f.decide(func() { f.machine.Image(f.now, next) })
	}
	return r
}

// count counts what differs between two images.
func (f *fleet) count(old, next *meta.Image) {
	for t := range next.Topics() {
		before, _ := old.TopicByID(t.ID)
		if before == t {
			continue
		}
		f.costs.topics++
		for n := range t.Partitions {
			if before == nil || before.Partitions[n].PartitionEpoch != t.Partitions[n].PartitionEpoch {
				f.costs.partitions++
			}
		}
	}
}

// decide has the controller work.
func (f *fleet) decide(work func()) {
	begin := time.Now()
	work()
	f.costs.deciding += time.Since(begin)
}

// pass lets time pass: heartbeats come, the controller's clock ticks.
func (f *fleet) pass(d time.Duration) {
	for end := f.now.Add(d); f.now.Before(end); {
		f.now = f.now.Add(beatStep)
		f.steps++
		for id := range f.brokers {
			if b := &f.brokers[id]; b.up && (b.stopping || (f.steps+id)%4 == 0) {
				f.beat(kafka.BrokerID(id), b)
			}
		}
		if f.steps%2 == 0 {
			f.decide(func() { f.machine.Tick(f.now) })
		}
		f.act()
	}
}

// beat is a heartbeat of a broker, which stops when it may.
func (f *fleet) beat(id kafka.BrokerID, b *member) {
	var a controller.Answer
	f.decide(func() {
		a = f.machine.Heartbeat(f.now, controller.Heartbeat{ID: id, Epoch: b.epoch, Applied: f.image.Index, Stopping: b.stopping})
	})
	if a.Stop {
		b.up = false
	}
	f.act()
}

// act does what the controller wants.
func (f *fleet) act() {
	for _, a := range f.machine.Ready() {
		switch a := a.(type) {
		case controller.Decide:
			f.do(a.Command)
			f.decide(func() { f.machine.Decided(f.now, a, nil) })
		case controller.Ping:
			f.decide(func() { f.machine.Pong(f.now, a.ID, f.brokers[a.ID].up) })
		default:
			f.t.Fatalf("the controller wants %v", a)
		}
	}
}

// lost is what gossip says.
func (f *fleet) lost(ids ...kafka.BrokerID) {
	f.decide(func() { f.machine.Lost(f.now, ids) })
	f.act()
}

// follow has every leader ask for the ISR that wanted says, as alterpartition does: many
// partitions in one command.
func (f *fleet) follow(wanted func(p *meta.Partition) []kafka.BrokerID) {
	asks := map[kafka.BrokerID][]meta.ISRChange{}
	for t := range f.image.Topics() {
		for n := range t.Partitions {
			p := &t.Partitions[n]
			isr := wanted(p)
			if p.Leader == kafka.NoBroker || len(isr) == len(p.ISR) {
				continue
			}
			c := meta.ISRChange{PartitionID: meta.PartitionID{Topic: t.ID, Partition: int32(n)}, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch}
			for _, id := range isr {
				c.ISR = append(c.ISR, meta.ISRReplica{ID: id, Epoch: f.brokers[id].epoch})
			}
			asks[p.Leader] = append(asks[p.Leader], c)
		}
	}
	for leader := range kafka.BrokerID(len(f.brokers)) {
		for batch := range slices.Chunk(asks[leader], isrBatch) {
			for _, r := range f.do(metadata.NewAlterISR(leader, f.brokers[leader].epoch, batch)).ISR {
				if r.Err != nil {
					f.t.Fatalf("an ISR was refused: %v", r.Err)
				}
			}
		}
	}
}

// catchUp has everybody who runs be in sync.
func (f *fleet) catchUp() {
	f.follow(func(p *meta.Partition) (isr []kafka.BrokerID) {
		for _, id := range p.Replicas {
			if b, ok := f.image.Broker(id); ok && b.Active() {
				isr = append(isr, id)
			}
		}
		return isr
	})
}

// during is what f's changes cost while do runs.
func (f *fleet) during(do func()) costs {
	before := f.costs
	f.costs = &costs{}
	do()
	took := *f.costs
	f.costs = before
	return took
}
