package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/purgatory"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/loglevel"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/vfs"
)

// Options are the parts of Roles. All are needed unless they say otherwise.
type Options struct {
	Self      kafka.BrokerID
	Control   meta.Control
	FS        vfs.FS
	Dirs      *logdir.Set
	Purgatory *purgatory.Purgatory
	Config    *config.Resolver
	Files     *commitlog.Files
	Producers *commitlog.ProducerBudget
	Clock     clock.Clock       // nil: the system's
	Log       *slog.Logger      // nil: discarded
	Metrics   *metrics.Registry // nil: a private one

	// Followers fetch for the partitions that other brokers lead; nil: nobody does.
	Followers Followers
	// ProposeISR is partition.Parts'; nil: this broker leads no followers.
	ProposeISR func(*partition.Partition, *meta.ISRChange)
	// Lag is replica.lag.time.max.ms; nil: Kafka's default.
	Lag func() time.Duration
	// TellFollowers is partition.Parts'; nil: never.
	TellFollowers func() bool

	// RecoveryThreads opens this many logs of each directory at once
	// (num.recovery.threads.per.data.dir); 0: 2.
	RecoveryThreads int
	// Workers is how many logs are opened or made at once; 0: as the machine likes. With
	// 1 it is the goroutine of Apply, so that a simulation is the same every time.
	Workers int
}

// minWorkers is how many logs are opened or made at once at least: much of it is
// waiting for the disk.
const minWorkers = 4

// Roles are the partitions of this broker. Lookups are safe for concurrent use
// and never wait.
type Roles struct {
	o      Options
	logLog *slog.Logger // of the logs of partitions
	parts  *partition.Parts
	table  *table

	apply     sync.Mutex          // one image at a time
	image     *meta.Image         // the last applied; guarded by apply
	retry     []kafka.TopicID     // topics of it of which a log could not be opened; guarded by apply
	configs   configs             // guarded by apply
	stop      func()              // of the watch; guarded by apply
	observers []func(*meta.Image) // guarded by apply
	closed    atomic.Bool         // no more images are applied
	applied   atomic.Uint64

	mu      sync.Mutex
	changed chan struct{}      // closed when applied grows; guarded by mu
	made    []meta.PartitionID // logs that the first image had and no directory; guarded by mu
}

// New makes an empty table. Start fills it.
func New(o Options) *Roles {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
	if o.RecoveryThreads == 0 {
		o.RecoveryThreads = 2
	}
	if o.Workers == 0 {
		o.Workers = max(minWorkers, 2*runtime.GOMAXPROCS(0), o.RecoveryThreads*len(o.Dirs.Dirs()))
	}
	levels := loglevel.Of(o.Log)
	return &Roles{
		o:      o,
		logLog: levels.Logger("mortise.commitlog"),
		parts: &partition.Parts{
			Clock: o.Clock, Purgatory: o.Purgatory, Log: levels.Logger("mortise.partition"), Metrics: o.Metrics,
			Lag: o.Lag, ProposeISR: o.ProposeISR, Eligible: eligible(o.Control),
			TellFollowers: o.TellFollowers,
		},
		table:   newTable(),
		configs: configs{resolver: o.Config, self: o.Self},
		changed: make(chan struct{}),
	}
}

// Start applies the present image, which opens or makes every log of this broker,
// begins the checkpoints, and follows the cluster from there on.
func (r *Roles) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stop := r.o.Control.Watch(r.Apply)
	r.apply.Lock()
	r.stop = stop
	r.apply.Unlock()
	r.o.Dirs.RemoveDeleted()
	r.o.Dirs.Start()
	return nil
}

// Close follows the cluster no longer and closes every log. It does not close the
// log directories.
func (r *Roles) Close(clean bool) error {
	r.closed.Store(true)
	r.apply.Lock()
	stop := r.stop
	r.stop = nil
	r.apply.Unlock()
	if stop != nil {
		stop()
	}
	var all []*partition.Partition
	for p := range r.All {
		all = append(all, p)
	}
	errs := make([]error, len(all))
	r.parallel(len(all), func(i int) { errs[i] = all[i].Close(clean) })
	return errors.Join(errs...)
}

// EndWaits has nobody wait for other replicas any more: the broker stops, and they may
// stop at the same time.
func (r *Roles) EndWaits() {
	r.parts.Stop()
	for p := range r.All {
		p.EndWaits()
	}
}

// Made are the partitions of the first image whose logs were not there, and were made.
func (r *Roles) Made() []meta.PartitionID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.made)
}

// CutOff says whether whoever decides was not heard of for the duration, and ends what
// waits in vain because followers are not heard of either: see Partition.GiveUp.
func (r *Roles) CutOff(is bool, d time.Duration) {
	r.parts.CutOff(is)
	if !is {
		return
	}
	now := r.o.Clock.Now()
	for p := range r.All {
		p.GiveUp(now, d)
	}
}

// AppliedIndex is the index of the last image that is in effect here.
func (r *Roles) AppliedIndex() uint64 { return r.applied.Load() }

// WaitApplied returns once an image with at least this index is in effect here.
func (r *Roles) WaitApplied(ctx context.Context, index uint64) error {
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		if r.applied.Load() >= index {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ByName finds a partition on this broker. It is nil with the code for a client
// otherwise: UNKNOWN_TOPIC_OR_PARTITION, or NOT_LEADER_OR_FOLLOWER when it is
// elsewhere.
//
// Hot: per partition and request. 0 allocs.
func (r *Roles) ByName(topic string, number int32) (*partition.Partition, kafka.ErrorCode) {
	if p := r.table.name(topic).at(number); p != nil {
		return p, kafka.None
	}
	t, ok := r.o.Control.Image().Topic(topic)
	return nil, elsewhere(t, ok, number, kafka.ErrUnknownTopicOrPartition)
}

// ByNameBytes is ByName for a name that lies in a request.
//
// Hot: per partition and request. 0 allocs.
func (r *Roles) ByNameBytes(topic []byte, number int32) (*partition.Partition, kafka.ErrorCode) {
	if p := r.table.nameBytes(topic).at(number); p != nil {
		return p, kafka.None
	}
	return r.ByName(string(topic), number)
}

// ByID finds a partition on this broker by its topic's id. It is nil with the
// code for a client otherwise: UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION or
// NOT_LEADER_OR_FOLLOWER.
//
// Hot: per partition and request. 0 allocs.
func (r *Roles) ByID(id kafka.TopicID, number int32) (*partition.Partition, kafka.ErrorCode) {
	if p := r.table.id(id).at(number); p != nil {
		return p, kafka.None
	}
	t, ok := r.o.Control.Image().TopicByID(id)
	return nil, elsewhere(t, ok, number, kafka.ErrUnknownTopicID)
}

// Topic finds a topic that has partitions on this broker; nil: there is none.
func (r *Roles) Topic(name string) *Topic { return r.table.name(name) }

// TopicByID finds a topic that has partitions on this broker; nil: there is none.
func (r *Roles) TopicByID(id kafka.TopicID) *Topic { return r.table.id(id) }

// All calls yield with every partition of this broker, in no particular order.
func (r *Roles) All(yield func(*partition.Partition) bool) {
	for t := range r.table.all {
		for _, p := range t.Partitions {
			if p != nil && !yield(p) {
				return
			}
		}
	}
}

// at is the partition with a number; nil: not here.
func (t *Topic) at(number int32) *partition.Partition {
	if t == nil || number < 0 || int(number) >= len(t.Partitions) {
		return nil
	}
	return t.Partitions[number]
}

// elsewhere is the answer about a partition that is not here.
func elsewhere(t *meta.Topic, known bool, number int32, unknown kafka.ErrorCode) kafka.ErrorCode {
	switch {
	case !known:
		return unknown
	case number < 0 || int(number) >= len(t.Partitions):
		return kafka.ErrUnknownTopicOrPartition
	}
	return kafka.ErrNotLeaderOrFollower
}

// parallel calls f(0) … f(n-1), several at once, and waits for all.
func (r *Roles) parallel(n int, f func(i int)) {
	if r.o.Workers == 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(r.o.Workers, n) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
}
