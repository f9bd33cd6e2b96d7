package replicatest

import (
	"context"
	"errors"
	"time"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/internal/reconcile"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/vfs"
)

// syncTicks is how many ticks lie between two times that sealed segments are made
// durable.
const syncTicks = 10

// process is a broker's process on a Disk: the rooms from reconcile down to vfs, with
// fetcher's sessions, in the goroutine of the simulation.
type process struct {
	env     Env
	fs      *vfs.Mem
	epoch   kafka.BrokerEpoch
	clock   *ticker
	dirs    *logdir.Set
	control *images
	config  *config.Resolver
	roles   *reconcile.Roles
	started bool
	ticks   int

	followers followers
	held      []meta.PartitionID
	leaving   map[meta.PartitionID]bool // asked for, and not answered yet
	strangers kafka.ProducerID          // made up by a bug

	remembered map[meta.PartitionID]map[kafka.BrokerID]partition.Fetch // by a bug: what followers asked last
}

// images is the cluster's state as reconcile sees it.
type images struct {
	meta.Control // decides nothing here
	image        *meta.Image
}

// Image implements meta.Control.
func (i *images) Image() *meta.Image { return i.image }

// Watch implements meta.Control. The newer images come by Replicas.Apply.
func (i *images) Watch(f func(*meta.Image)) (stop func()) {
	f(i.image)
	return func() {}
}

// newProcess opens the log directory; the logs are opened by the first image.
func newProcess(fs *vfs.Mem, env Env) (*process, error) {
	p := &process{env: env, fs: fs, clock: &ticker{now: env.Now}, control: &images{}, leaving: map[meta.PartitionID]bool{}}
	log, reg := env.logger(), metrics.NewRegistry()
	var err error
	p.dirs, err = logdir.Open(logdir.Options{FS: fs, Dirs: []string{"/data"}, ClusterID: "simulated", NodeID: env.ID,
		Clock: p.clock, Log: log, Metrics: reg, ReserveBytes: -1})
	if err != nil {
		return nil, err
	}
	p.config = config.NewResolver(config.Static{}).For(env.ID)
	p.followers.begin(p, log, reg)
	p.roles = reconcile.New(reconcile.Options{
		Self: env.ID, Control: p.control, FS: fs, Dirs: p.dirs,
		Purgatory: purgatory.New(purgatory.Options{Clock: p.clock}), Config: p.config,
		Files: commitlog.NewFiles(0, reg), Producers: commitlog.NewProducerBudget(0, reg),
		Clock: p.clock, Log: log, Metrics: reg, Workers: 1,
		Followers: &p.followers, Lag: func() time.Duration { return env.LagMax },
		ProposeISR: p.propose,
	})
	return p, nil
}

// propose asks for an ISR.
func (p *process) propose(h *partition.Partition, c *meta.ISRChange) {
	p.env.ProposeISR(*c)
	p.plantProposed(h, c)
}

// CleanEpoch implements Replicas.
func (p *process) CleanEpoch() (kafka.BrokerEpoch, bool) {
	d := p.dirs.Dirs()[0]
	return d.CleanEpoch, d.Clean && d.CleanEpoch > 0
}

// Registered implements Replicas.
func (p *process) Registered(epoch kafka.BrokerEpoch) { p.epoch = epoch }

// Apply implements Replicas.
func (p *process) Apply(img *meta.Image) {
	p.control.image = img
	if p.started {
		p.roles.Apply(img)
	} else if err := p.roles.Start(context.Background()); err == nil {
		p.started = true
	}
	found := map[meta.PartitionID]bool{}
	for h := range p.roles.All {
		found[idOf(h)] = true
	}
	p.held = sortedIDs(found)
	p.plantApplied()
}

// idOf names a partition.
func idOf(h *partition.Partition) meta.PartitionID {
	return meta.PartitionID{Topic: h.TopicID(), Partition: h.TopicPartition().Partition}
}

// find is a partition here; nil: it is not.
func (p *process) find(id meta.PartitionID) *partition.Partition {
	if !p.started {
		return nil
	}
	h, _ := p.roles.ByID(id.Topic, id.Partition)
	return h
}

// Tick implements Replicas. What the broker's timers would do happens here.
func (p *process) Tick() {
	p.ticks++
	for _, id := range p.held {
		h := p.find(id)
		if h == nil || h.Log() == nil || h.Offline() != nil {
			continue
		}
		h.CheckISR(p.env.Now())
		if p.ticks%syncTicks == 0 && len(h.Log().Segments()) > 1 {
			flush(h)
		}
	}
	p.clock.fire()
	p.leaveUnfit()
}

// flush has the group commit make a partition durable, and waits for that. The group
// commit does it in a goroutine; nothing else happens meanwhile.
func flush(h *partition.Partition) {
	done := make(chan error, 1)
	h.AwaitWithin(partition.Wait{UpTo: h.EndOffset()}, told(func(err error) { done <- err }))
	<-done // a failure takes the directory offline, which shows
}

// ISRAnswered implements Replicas.
func (p *process) ISRAnswered(c meta.ISRChange, r meta.ISRResult) bool {
	if c.Failed || c.Full {
		delete(p.leaving, c.PartitionID)
		return false // by the next look the image may have changed
	}
	h := p.find(c.PartitionID)
	return h != nil && h.ISRAnswered(&c, r)
}

// Stop implements Replicas.
func (p *process) Stop() error {
	if p.env.Bug == StopWithoutSync {
		return p.dirs.Close(true, p.epoch)
	}
	err := errors.Join(p.roles.Close(true), p.dirs.Close(true, p.epoch))
	if err == nil { // it is not marked when a log was never opened, or its disk failed
		_, err = p.fs.Stat("/data/" + logdir.CleanShutdownFile)
	}
	return err
}

// Kill implements Replicas.
func (p *process) Kill() {}

// Held implements Replicas.
func (p *process) Held() []meta.PartitionID { return p.held }

// State implements Replicas.
func (p *process) State(id meta.PartitionID) (State, bool) {
	h := p.find(id)
	if h == nil {
		return State{}, false
	}
	if h.Log() == nil || h.Offline() != nil {
		return State{Failed: true}, true
	}
	role := h.Role()
	return State{Start: h.StartOffset(), HighWatermark: h.HighWatermark(), End: h.EndOffset(), Leading: role.Leading, Epoch: role.Epoch}, true
}

// Batches implements Replicas.
func (p *process) Batches(id meta.PartitionID, from, to kafka.Offset) ([][]byte, error) {
	log := p.find(id).Log()
	var all [][]byte
	for from < to {
		s, err := log.Read(from, commitlog.ReadOptions{MaxBytes: 1 << 20, Upper: to, MinOne: true})
		if err != nil {
			return nil, err
		}
		if s.Range == nil {
			break
		}
		batches, err := split(s.Range)
		if err != nil {
			return nil, err
		}
		all, from = append(all, batches...), s.Next
	}
	return all, nil
}

var _ Replicas = (*process)(nil)
