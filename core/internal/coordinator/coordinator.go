package coordinator

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/internal/consumergroup"
	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/internal/reconcile"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/record"
)

// Topic is where groups and offsets are kept.
const Topic = "__consumer_offsets"

// Bounds of loading.
const (
	loadsAtOnce = 4       // partitions
	loadBytes   = 5 << 20 // of one read; a larger batch is read alone
)

// lookupsAtOnce bounds the groups whose expressions are looked up at a time: each
// takes all topics in hand.
const lookupsAtOnce = 2

// Config is what the broker's configuration says about groups.
type Config struct {
	Groups     group.Config
	Codec      record.Codec // offsets.topic.compression.codec
	Partitions int32        // of __consumer_offsets when it is made
	// WriteTimeoutMS bounds the wait until what an answer depends on is committed
	// (offsets.commit.timeout.ms).
	WriteTimeoutMS int64
}

// Options are the parts of a Coordinator. All are needed unless they say otherwise.
type Options struct {
	Self    kafka.BrokerID
	Roles   *reconcile.Roles
	Config  func() Config
	Rules   func(group string) consumergroup.Rules
	IDs     group.IDs
	Clock   clock.Clock       // nil: the system's
	Log     *slog.Logger      // nil: discarded
	Metrics *metrics.Registry // nil: a private one
}

// Coordinator is the group coordinator of this broker. It is safe for concurrent
// use.
type Coordinator struct {
	o       Options
	metrics counters
	shards  atomic.Pointer[[]*shard] // by partition; nil elements: not here. Nil: there is no topic
	loading chan struct{}            // one token for each load that runs
	looking chan struct{}            // one token for each look-up that runs
	current atomic.Pointer[meta.Image]
	running sync.WaitGroup // loads and look-ups

	mu      sync.Mutex // one image at a time
	image   *meta.Image
	topicID kafka.TopicID
	closed  bool
}

// counters count what shards do.
type counters struct {
	commits, skipped *metrics.Counter
	loads            *metrics.Histogram
}

// New makes a Coordinator of no partition. Apply gives it the partitions.
func New(o Options) *Coordinator {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.NewRegistry()
	}
	c := &Coordinator{o: o, loading: make(chan struct{}, loadsAtOnce), looking: make(chan struct{}, lookupsAtOnce), metrics: counters{
		commits: o.Metrics.Counter("mortise_coordinator_records_total", "Records that were appended about groups and offsets."),
		skipped: o.Metrics.Counter("mortise_coordinator_skipped_records_total", "Records of __consumer_offsets that were not understood while loading."),
		loads:   o.Metrics.Histogram("mortise_coordinator_load_seconds", "Time to load one partition of __consumer_offsets.", metrics.SecondsBounds()),
	}}
	o.Metrics.GaugeFunc("mortise_coordinator_groups", "Groups that this broker coordinates.", func() float64 {
		groups, _ := c.size()
		return float64(groups)
	})
	o.Metrics.GaugeFunc("mortise_coordinator_offsets", "Committed offsets that this broker keeps in memory, of all of its groups.", func() float64 {
		_, offsets := c.size()
		return float64(offsets)
	})
	return c
}

// size is how many groups and offsets there are in all shards that are loaded.
func (c *Coordinator) size() (groups, offsets int) {
	for s := range c.all {
		s.mu.Lock()
		if s.status == statusActive {
			g, o := s.state.Len()
			groups, offsets = groups+g, offsets+o
		}
		s.mu.Unlock()
	}
	return groups, offsets
}

// Apply follows the roles of an image that is in effect on this broker: shards
// begin and end, and offsets of deleted topics go.
func (c *Coordinator) Apply(img *meta.Image) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.image != nil && img.Index <= c.image.Index {
		return
	}
	before := c.image
	c.image = img
	c.current.Store(img)
	c.follow(img)
	added := sync.OnceValue(func() bool { return hasAdded(before, img) })
	for s := range c.all {
		s.see(img, added)
		s.dropDeletedTopics(before, img)
	}
}

// hasAdded reports whether an image has topics that the one before did not have.
// before may be nil.
func hasAdded(before, img *meta.Image) bool {
	if before == nil {
		return true
	}
	if ids, known := img.ChangedSince(before); known {
		return slices.ContainsFunc(ids, func(id kafka.TopicID) bool {
			_, had := before.TopicByID(id)
			_, has := img.TopicByID(id)
			return has && !had
		})
	}
	for t := range img.Topics() {
		if _, ok := before.TopicByID(t.ID); !ok {
			return true
		}
	}
	return false
}

// follow makes the shards those that the image wants here. Caller holds mu.
func (c *Coordinator) follow(img *meta.Image) {
	old := c.shards.Load()
	t, ok := img.Topic(Topic)
	if !ok {
		c.shards.Store(nil)
		for s := range each(old) {
			s.unload()
		}
		return
	}
	same := c.topicID == t.ID
	c.topicID = t.ID
	next := make([]*shard, len(t.Partitions))
	var ended, begun []*shard
	for n := range t.Partitions {
		was := at(old, int32(n))
		lead := t.Partitions[n].Leader == c.o.Self
		if was != nil && same && lead && was.epoch == t.Partitions[n].LeaderEpoch {
			next[n] = was
			continue
		}
		if was != nil {
			ended = append(ended, was)
		}
		if p, _ := c.o.Roles.ByName(Topic, int32(n)); lead && p != nil && p.Log() != nil {
			next[n] = newShard(c, p, t.Partitions[n].LeaderEpoch)
			begun = append(begun, next[n])
		}
	}
	for _, s := range ended {
		s.unload()
	}
	c.shards.Store(&next)
	for _, s := range begun {
		s.begin()
	}
}

// Do runs an operation on the shard of a group. An error code says that nothing was
// done: this broker does not coordinate the group (NOT_COORDINATOR), or not yet
// (COORDINATOR_LOAD_IN_PROGRESS). Else the Tickets of the operation's Output are
// answered, by this call or later.
func (c *Coordinator) Do(id string, op func(s *group.State, now int64) group.Output) kafka.ErrorCode {
	return c.DoPartition(c.Partition(id), op)
}

// DoPartition is Do for a partition of __consumer_offsets.
func (c *Coordinator) DoPartition(n int32, op func(s *group.State, now int64) group.Output) kafka.ErrorCode {
	s := at(c.shards.Load(), n)
	if s == nil {
		return kafka.ErrNotCoordinator
	}
	return s.do(op)
}

// Partition is the partition of __consumer_offsets that keeps a group.
func (c *Coordinator) Partition(id string) int32 {
	if list := c.shards.Load(); list != nil {
		return group.Partition(id, int32(len(*list)))
	}
	return group.Partition(id, c.o.Config().Partitions)
}

// Led are the partitions of __consumer_offsets that this broker coordinates.
func (c *Coordinator) Led() (led []int32) {
	list := c.shards.Load()
	if list == nil {
		return nil
	}
	for n, s := range *list {
		if s != nil {
			led = append(led, int32(n))
		}
	}
	return led
}

// Close ends every shard; requests that wait are answered with NOT_COORDINATOR. It
// waits for loads to end. Calls after the first do nothing.
func (c *Coordinator) Close() {
	c.mu.Lock()
	c.closed = true
	old := c.shards.Swap(nil)
	c.mu.Unlock()
	for s := range each(old) {
		s.unload()
	}
	c.running.Wait()
}

// all calls yield with each shard.
func (c *Coordinator) all(yield func(*shard) bool) { each(c.shards.Load())(yield) }

// each are the shards of a list, which may be nil.
func each(list *[]*shard) func(yield func(*shard) bool) {
	return func(yield func(*shard) bool) {
		if list == nil {
			return
		}
		for _, s := range *list {
			if s != nil && !yield(s) {
				return
			}
		}
	}
}

// at is one shard of a list, which may be nil.
func at(list *[]*shard, n int32) *shard {
	if list == nil || n < 0 || int(n) >= len(*list) {
		return nil
	}
	return (*list)[n]
}
