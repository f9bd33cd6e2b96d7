package reconcile

import (
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// plan is what one image changes.
type plan struct {
	first bool
	put   []*Topic // new tables of topics, with holes for what jobs fill in
	gone  []*Topic
	drop  []*partition.Partition // to delete
	jobs  []job
}

// job is one partition to open or to give a role.
type job struct {
	topic  *Topic
	number int32
	config *partition.Config // nil: unchanged
	open   bool
	again  bool // it could not be opened before: there may be data of it

	was *partition.Role // filled in by run; nil: it had none
}

// Apply makes an image take effect. Watch calls it; it returns when everything is
// in place.
func (r *Roles) Apply(img *meta.Image) {
	r.apply.Lock()
	defer r.apply.Unlock()
	if r.closed.Load() || r.image != nil && img.Index <= r.image.Index {
		return
	}
	p := r.diff(img)
	if p.first {
		r.setStraysAside(img)
		r.settleTwins(img)
		r.o.Dirs.Recovery.LogsTotal.Store(int64(len(p.jobs)))
	}
	r.table.change(nil, p.gone)
	for _, here := range p.drop {
		r.unfollow(here)
	}
	r.parallel(len(p.drop), func(i int) { r.remove(p.drop[i]) })
	r.parallel(len(p.jobs), func(i int) { r.run(&p.jobs[i], p.first) })
	for i := range p.jobs {
		r.follow(&p.jobs[i])
	}
	r.table.change(p.put, nil)
	r.retry = p.retry()
	r.image = img
	r.observed(img) // before anybody who waits for this image goes on
	r.applied.Store(img.Index)

	r.mu.Lock()
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
}

// Reconfigure derives every topic's configuration anew: the resolver's static
// layer changed.
func (r *Roles) Reconfigure() {
	r.apply.Lock()
	defer r.apply.Unlock()
	if r.image == nil {
		return
	}
	r.configs.forget(r.image)
	for t := range r.table.all {
		c := r.configs.of(r.image, t.Name)
		for _, p := range t.Partitions {
			if p != nil {
				p.SetConfig(c)
			}
		}
	}
}

// diff compares the image with the table.
func (r *Roles) diff(img *meta.Image) *plan {
	p := &plan{first: r.image == nil}
	configChanged, all := r.configs.turn(r.image, img)
	compare := func(t *meta.Topic) {
		old, changed := r.table.id(t.ID), configChanged(t.Name)
		if old == nil || old.image != t || changed || old.retry.Load() {
			r.diffTopic(p, img, t, old, changed)
		}
	}
	if ids, known := r.touched(img); known && !all {
		for _, id := range ids {
			if t, ok := img.TopicByID(id); ok {
				compare(t)
			} else if old := r.table.id(id); old != nil {
				p.removeTopic(old)
			}
		}
		return p
	}
	for t := range img.Topics() {
		compare(t)
	}
	for old := range r.table.all {
		if _, ok := img.TopicByID(old.ID); !ok {
			p.removeTopic(old)
		}
	}
	return p
}

// touched are the topics that have to be compared: those that changed since the image that
// is in effect, and those of which a log could not be opened then. known is false if that
// may be any.
func (r *Roles) touched(img *meta.Image) (ids []kafka.TopicID, known bool) {
	if r.image == nil {
		return nil, false
	}
	if ids, known = img.ChangedSince(r.image); len(r.retry) > 0 {
		ids = slices.Concat(ids, r.retry)
		slices.SortFunc(ids, kafka.TopicID.Compare)
		ids = slices.Compact(ids)
	}
	return ids, known
}

// diffTopic plans what a new or changed topic needs.
func (r *Roles) diffTopic(p *plan, img *meta.Image, t *meta.Topic, old *Topic, configChanged bool) {
	next := &Topic{Name: t.Name, ID: t.ID, Partitions: make([]*partition.Partition, len(t.Partitions)), image: t}
	config := r.configs.of(img, t.Name)
	mine := false
	for i := range t.Partitions {
		n := int32(i)
		here := old.at(n)
		switch replica := slices.Contains(t.Partitions[i].Replicas, r.o.Self); {
		case replica && (here == nil || old.retry.Load() && here.Log() == nil):
			p.jobs = append(p.jobs, job{topic: next, number: n, config: config, open: true, again: here != nil})
			mine = true
		case replica:
			next.Partitions[i] = here
			j := job{topic: next, number: n}
			if configChanged {
				j.config = config
			}
			p.jobs = append(p.jobs, j)
			mine = true
		case here != nil:
			p.drop = append(p.drop, here)
		}
	}
	if mine {
		p.put = append(p.put, next)
	} else if old != nil {
		p.gone = append(p.gone, old)
	}
}

// retry are the topics of which a log could not be opened, once the jobs have run. All
// of those before are among the new tables.
func (p *plan) retry() (ids []kafka.TopicID) {
	for _, t := range p.put {
		if t.retry.Load() {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// removeTopic plans the removal of a topic and its logs.
func (p *plan) removeTopic(t *Topic) {
	p.gone = append(p.gone, t)
	for _, here := range t.Partitions {
		if here != nil {
			p.drop = append(p.drop, here)
		}
	}
}

// run does one job. Jobs of one topic write to different places of its table.
//
// An image is one: a leader that counts by the min.insync.replicas of this one and the role
// of the one before, or the other way round, may commit what those lack who can be elected
// (KIP-966). What asks for more comes first, what asks for less last.
func (r *Roles) run(j *job, first bool) {
	here := j.topic.Partitions[j.number]
	raises := false
	if j.open {
		here = r.open(j.topic, j.number, j.config, first || j.again)
		j.topic.Partitions[j.number] = here
	} else {
		j.was = here.Role()
		raises = j.config != nil && j.config.Topic.MinInsyncReplicas > here.Config().Topic.MinInsyncReplicas
	}
	if raises {
		here.SetConfig(j.config)
	}
	if err := here.SetRole(r.role(&j.topic.image.Partitions[j.number])); err != nil && here.Log() != nil {
		r.o.Log.Error("partition did not take its role", "partition", here.TopicPartition().String(), "err", err)
	}
	if !j.open && !raises && j.config != nil {
		here.SetConfig(j.config)
	}
	if first {
		r.o.Dirs.Recovery.LogsDone.Add(1)
	}
}

// role is what the image wants this broker to be.
func (r *Roles) role(p *meta.Partition) partition.Role {
	return partition.Role{
		Leading: p.Leader == r.o.Self, Leader: p.Leader,
		Epoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch,
		Replicas: p.Replicas, ISR: p.ISR, Recovering: p.Recovering,
	}
}

// remove deletes a partition's log.
func (r *Roles) remove(p *partition.Partition) {
	if err := p.Delete(); err != nil {
		r.o.Log.Error("partition could not be deleted; what is left is set aside at the next start", "partition", p.TopicPartition().String(), "err", err)
	}
}

// setStraysAside renames the partition directories that the image does not know
// here. An image without any change knows nothing yet, and touches nothing.
func (r *Roles) setStraysAside(img *meta.Image) {
	if img.Index == 0 {
		return
	}
	for tp, dir := range r.o.Dirs.Found() {
		t, ok := img.Topic(tp.Topic)
		if ok && int(tp.Partition) < len(t.Partitions) && slices.Contains(t.Partitions[tp.Partition].Replicas, r.o.Self) {
			continue
		}
		dirs := r.o.Dirs.Twins()[tp]
		if dirs == nil {
			dirs = []*logdir.Dir{dir}
		}
		for _, d := range dirs {
			if err := r.setAside(d, tp, "no such partition on this broker"); err != nil {
				d.Failed("stray", err)
			}
		}
	}
}

// setAside renames one partition directory and says so.
func (r *Roles) setAside(dir *logdir.Dir, tp kafka.TopicPartition, why string) error {
	to, err := r.o.Dirs.SetAside(dir, tp)
	if err != nil {
		return fmt.Errorf("set aside %s: %w", dir.PartitionPath(tp), err)
	}
	r.o.Log.Warn("stray partition directory set aside; nothing in it was deleted", "partition", tp.String(), "why", why, "to", to)
	return nil
}
