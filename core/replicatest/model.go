package replicatest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// Model is a machine whose logs are lists in memory: the dumb twin of the real one.
// It keeps Kafka's rules of replication and nothing else, so that a simulation with it
// is fast and shows whether the rules themselves hold.
type Model struct {
	logs  map[meta.PartitionID]*modelLog
	full  bool
	clean kafka.BrokerEpoch // 0: it did not stop in order
}

// NewModel makes a machine with an empty disk.
func NewModel() *Model { return &Model{logs: map[meta.PartitionID]*modelLog{}} }

// Start implements Machine.
func (m *Model) Start(env Env) (Replicas, error) {
	p := &modelProcess{machine: m, env: env, replicas: map[meta.PartitionID]*modelReplica{}}
	p.clean, m.clean = m.clean, 0
	for id, log := range m.logs {
		p.replicas[id] = &modelReplica{process: p, id: id, log: log, leader: kafka.NoBroker}
	}
	p.sort()
	return p, nil
}

// PowerCut implements Machine.
func (m *Model) PowerCut(r *rand.Rand) {
	for _, id := range sortedIDs(m.logs) {
		log := m.logs[id]
		if lost := len(log.batches) - log.synced; lost > 0 {
			log.cut(log.batches[len(log.batches)-1-r.IntN(lost)].BaseOffset())
		}
		if r.IntN(2) == 0 {
			log.forgetTrim()
		}
		log.sync()
	}
}

// Wipe implements Machine.
func (m *Model) Wipe() { m.logs = map[meta.PartitionID]*modelLog{} }

// Fill implements Machine.
func (m *Model) Fill(full bool) { m.full = full }

// modelProcess is a process on a Model.
type modelProcess struct {
	machine  *Model
	env      Env
	clean    kafka.BrokerEpoch // of the process before; 0: it did not stop in order
	epoch    kafka.BrokerEpoch
	image    *meta.Image
	replicas map[meta.PartitionID]*modelReplica
	held     []meta.PartitionID // the keys of replicas, in order
	busy     []bool             // by leader: a fetch is under way
	backoff  []int              // by leader: ticks to wait
	ticks    int
}

// modelSyncs is how many ticks lie between two times that everything is made durable.
const modelSyncs = 12

// sort brings held up to date.
func (p *modelProcess) sort() { p.held = sortedIDs(p.replicas) }

// sortedIDs are the keys of a map in order.
func sortedIDs[V any](m map[meta.PartitionID]V) []meta.PartitionID {
	ids := make([]meta.PartitionID, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b meta.PartitionID) int {
		return cmp.Or(slices.Compare(a.Topic[:], b.Topic[:]), cmp.Compare(a.Partition, b.Partition))
	})
	return ids
}

// CleanEpoch implements Replicas.
func (p *modelProcess) CleanEpoch() (kafka.BrokerEpoch, bool) { return p.clean, p.clean > 0 }

// Registered implements Replicas.
func (p *modelProcess) Registered(epoch kafka.BrokerEpoch) { p.epoch = epoch }

// Apply implements Replicas.
func (p *modelProcess) Apply(img *meta.Image) {
	p.image = img
	here := map[meta.PartitionID]bool{}
	for t := range img.Topics() {
		minISR, _ := strconv.Atoi(img.TopicConfigText(t.Name, meta.MinISRConfig))
		for n := range t.Partitions {
			s := &t.Partitions[n]
			if !slices.Contains(s.Replicas, p.env.ID) {
				continue
			}
			id := meta.PartitionID{Topic: t.ID, Partition: int32(n)}
			here[id] = true
			r := p.replicas[id]
			if r == nil {
				r = &modelReplica{process: p, id: id, log: &modelLog{}, leader: kafka.NoBroker}
				p.replicas[id], p.machine.logs[id] = r, r.log
			}
			r.assign(s, max(minISR, 1))
		}
	}
	for _, id := range p.held {
		if !here[id] {
			p.replicas[id].resign()
			delete(p.replicas, id)
			delete(p.machine.logs, id)
		}
	}
	p.sort()
}

// eligible says whether a broker may join an ISR.
func (p *modelProcess) eligible(id kafka.BrokerID, epoch kafka.BrokerEpoch) bool {
	b, known := p.image.Broker(id)
	return known && b.Active() && b.Epoch == epoch
}

// Tick implements Replicas.
func (p *modelProcess) Tick() {
	for i := range p.backoff {
		p.backoff[i] = max(0, p.backoff[i]-1)
	}
	for _, id := range p.held {
		r := p.replicas[id]
		if r.leading {
			r.propose(r.state.Shrink(r.log.end(), p.env.Now(), r.rules()))
			r.advance()
		}
	}
	if p.ticks++; p.ticks%modelSyncs == 0 {
		p.sync()
	}
	p.leaveFull()
}

// sync makes all logs durable.
func (p *modelProcess) sync() {
	for _, id := range p.held {
		p.replicas[id].log.sync()
	}
}

// Stop implements Replicas.
func (p *modelProcess) Stop() error {
	if p.env.Bug != StopWithoutSync {
		p.sync()
	}
	p.machine.clean = p.epoch
	return nil
}

// Kill implements Replicas.
func (p *modelProcess) Kill() {}

// Held implements Replicas.
func (p *modelProcess) Held() []meta.PartitionID { return p.held }

// State implements Replicas.
func (p *modelProcess) State(id meta.PartitionID) (State, bool) {
	r := p.replicas[id]
	if r == nil {
		return State{}, false
	}
	return State{Start: r.log.start, HighWatermark: r.log.hw, End: r.log.end(), Leading: r.leading, Epoch: r.epoch}, true
}

// Batches implements Replicas.
func (p *modelProcess) Batches(id meta.PartitionID, from, to kafka.Offset) ([][]byte, error) {
	return p.replicas[id].log.read(from, to), nil
}

// Append implements Replicas.
func (p *modelProcess) Append(id meta.PartitionID, batch []byte, acks int16, done func(Appended)) {
	r := p.replicas[id]
	switch {
	case r == nil || !r.leading:
		done(Appended{Code: kafka.ErrNotLeaderOrFollower})
	case p.machine.full:
		done(Appended{Code: kafka.ErrKafkaStorageError})
	case acks == -1 && r.state.UnderMin(r.minISR):
		done(Appended{Code: kafka.ErrNotEnoughReplicas})
	default:
		r.append(batch, acks, done)
	}
}

// Read implements Replicas.
func (p *modelProcess) Read(id meta.PartitionID, epoch kafka.LeaderEpoch, from kafka.Offset) Fetched {
	r := p.replicas[id]
	if code := r.admit(epoch); code != kafka.None {
		return Fetched{Code: code}
	}
	if from < r.log.start || from > r.log.end() {
		return Fetched{Code: kafka.ErrOffsetOutOfRange}
	}
	return Fetched{HighWatermark: r.log.hw, Batches: r.log.read(from, r.log.hw)}
}

// Latest implements Replicas.
func (p *modelProcess) Latest(id meta.PartitionID, epoch kafka.LeaderEpoch) (kafka.Offset, kafka.ErrorCode) {
	r := p.replicas[id]
	if code := r.admit(epoch); code != kafka.None {
		return kafka.NoOffset, code
	}
	if r.log.hw < r.began {
		return kafka.NoOffset, kafka.ErrOffsetNotAvailable
	}
	return r.log.hw, kafka.None
}

// ISRAnswered implements Replicas.
func (p *modelProcess) ISRAnswered(c meta.ISRChange, a meta.ISRResult) bool {
	r := p.replicas[c.PartitionID]
	if r != nil && c.Full {
		r.leaving = false
		return false
	}
	if r == nil || !r.leading || r.epoch != c.LeaderEpoch || r.asked != c.PartitionEpoch || !r.state.Pending() {
		return false
	}
	switch {
	case a.Err == nil:
		r.assign(&a.State, r.minISR)
	case a.Err.Code == kafka.ErrRequestTimedOut, a.Err.Code == kafka.ErrNotController:
		return true
	default:
		r.state.Refused()
	}
	return false
}
