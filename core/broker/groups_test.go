package broker_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/vfs"
)

// patience bounds what tests outside of bubbles wait for. It is only for what would never
// come: a machine may be as slow as it likes.
const patience = time.Minute

// quickGroups lets groups begin at once.
var quickGroups = config.Static{"group.initial.rebalance.delay.ms": "0"}

// fill produces n records, numbered from first on, spread over the partitions.
func fill(t *testing.T, b *brokertest.Broker, topic string, first, n int) {
	t.Helper()
	c := b.Client(kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	var records []*kgo.Record
	for i := range n {
		records = append(records, kgo.StringRecord(fmt.Sprint(first+i)))
	}
	if err := c.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// member is one consumer of a group that reads until it is stopped.
type member struct {
	client *kgo.Client
	stop   context.CancelFunc
	done   chan struct{}
}

// crowd counts what the members of a group read.
type crowd struct {
	t     *testing.T
	b     *brokertest.Broker
	mu    sync.Mutex
	seen  map[string]int
	owned map[int32]*member
	grew  chan struct{}
}

func newCrowd(t *testing.T, b *brokertest.Broker) *crowd {
	return &crowd{t: t, b: b, seen: map[string]int{}, owned: map[int32]*member{}, grew: make(chan struct{}, 1)}
}

// poke tells whoever waits that something changed.
func (c *crowd) poke() {
	select {
	case c.grew <- struct{}{}:
	default:
	}
}

// join starts a member.
func (c *crowd) join(opts ...kgo.Opt) *member {
	m := &member{done: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	own := func(lost bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			c.mu.Lock()
			for _, p := range parts["t"] {
				switch {
				case lost && c.owned[p] == m:
					delete(c.owned, p)
				case !lost && c.owned[p] != nil && c.owned[p] != m:
					c.t.Errorf("partition %d has two owners", p)
				case !lost:
					c.owned[p] = m
				}
			}
			c.mu.Unlock()
			c.poke()
		}
	}
	all := append([]kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(100 * time.Millisecond), kgo.FetchMaxWait(50 * time.Millisecond),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
		kgo.OnPartitionsAssigned(own(false)), kgo.OnPartitionsRevoked(own(true)), kgo.OnPartitionsLost(own(true))}, opts...)
	m.client = c.b.Client(all...)
	go func() {
		defer close(m.done)
		for ctx.Err() == nil {
			fetches := m.client.PollFetches(ctx)
			c.mu.Lock()
			fetches.EachRecord(func(r *kgo.Record) { c.seen[string(r.Value)]++ })
			c.mu.Unlock()
			if fetches.NumRecords() > 0 {
				if err := m.client.CommitUncommittedOffsets(context.Background()); err != nil {
					c.t.Logf("commit: %v; what is not committed is read again", err)
				}
				c.poke()
			}
			m.client.AllowRebalance()
		}
	}()
	c.t.Cleanup(func() { m.leave() })
	return m
}

// leave stops a member.
func (m *member) leave() {
	m.stop()
	<-m.done
	m.client.CloseAllowingRebalance()
}

// await waits until something holds.
func (c *crowd) await(what string, holds func() bool) {
	c.t.Helper()
	ctx, stop := context.WithTimeout(c.t.Context(), patience)
	defer stop()
	for {
		c.mu.Lock()
		ok := holds()
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-c.grew:
		case <-ctx.Done():
			c.mu.Lock()
			defer c.mu.Unlock()
			c.t.Fatalf("%s: not so after %v; %d of the records seen, %d partitions owned", what, patience, len(c.seen), len(c.owned))
		}
	}
}

// owners is how many members own partitions.
func (c *crowd) owners() int {
	var all []*member
	for _, m := range c.owned {
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return len(all)
}

// TestGroupOfThreeOutlivesItsBroker joins, rebalances, commits, restarts and crashes
// the broker, and resumes: every record is read, and after a clean end no record
// twice.
func TestGroupOfThreeOutlivesItsBroker(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Loopback: true, Static: quickGroups})
	b.CreateTopic("t", 6, nil)
	fill(t, b, "t", 0, 60)
	c := newCrowd(t, b)
	first := c.join()
	c.await("one member reads all", func() bool { return len(c.seen) == 60 && len(c.owned) == 6 })
	c.join()
	c.join()
	c.await("three members share", func() bool { return len(c.owned) == 6 && c.owners() == 3 })
	fill(t, b, "t", 60, 60)
	c.await("three members read", func() bool { return len(c.seen) == 120 })
	first.leave()
	c.await("two members share", func() bool { return len(c.owned) == 6 && c.owners() == 2 })
	for _, n := range c.seen {
		if n > 1 {
			t.Errorf("a record was read %d times, though every rebalance was orderly", n)
		}
	}
	b.Restart()
	fill(t, b, "t", 120, 60)
	c.await("read on after a restart", func() bool { return len(c.seen) == 180 })
}

// TestGRP02CommittedOffsetsOutliveAPowerFailure commits where every append is
// flushed, cuts the power, and asks.
func TestGRP02CommittedOffsetsOutliveAPowerFailure(t *testing.T) {
	durable := maps.Clone(quickGroups)
	durable[config.DurabilityKey] = config.DurabilityFsync
	b := brokertest.Start(t, brokertest.Options{FS: vfs.NewMem(), Loopback: true, Static: durable})
	b.CreateTopic("t", 3, nil)
	fill(t, b, "t", 0, 30)
	c := newCrowd(t, b)
	m := c.join()
	c.await("read all", func() bool { return len(c.seen) == 30 })
	m.leave()
	if got := committed(t, b, "g", "t"); got != 30 {
		t.Fatalf("the committed offsets add up to %d, want 30", got)
	}
	for round := range 3 {
		b.Crash(rand.New(rand.NewPCG(uint64(round), 1)))
		if got := committed(t, b, "g", "t"); got != 30 {
			t.Fatalf("after crash %d the committed offsets add up to %d, want 30", round, got)
		}
	}
}

// committed is the sum of a group's offsets of a topic.
func committed(t *testing.T, b *brokertest.Broker, group, topic string) (sum int64) {
	t.Helper()
	c := b.Client()
	q := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	q.Groups = append(q.Groups, g)
	q.Group = group
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	resp, err := q.RequestWith(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range resp.Groups {
		if g.ErrorCode != 0 {
			t.Fatalf("offsets of %s: error %d", group, g.ErrorCode)
		}
		for _, top := range g.Topics {
			for _, p := range top.Partitions {
				sum += p.Offset
			}
		}
	}
	return sum
}

// TestKIP345RestartedStaticMemberKeepsItsPartitions replaces a static member: the
// other one is not disturbed.
func TestKIP345RestartedStaticMemberKeepsItsPartitions(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Loopback: true, Static: quickGroups})
	b.CreateTopic("t", 4, nil)
	fill(t, b, "t", 0, 40)
	c := newCrowd(t, b)
	c.join(kgo.InstanceID("one"))
	c.await("one leads", func() bool { return len(c.owned) == 4 }) // a leader that comes back may ask for another plan (KIP-814)
	two := c.join(kgo.InstanceID("two"))
	c.await("both share", func() bool { return c.owners() == 2 && len(c.owned) == 4 && len(c.seen) == 40 })
	before := generation(t, b)
	two.stop()
	<-two.done
	two.client.CloseAllowingRebalance()
	c.join(kgo.InstanceID("two"))
	fill(t, b, "t", 40, 40)
	c.await("both read on", func() bool { return len(c.seen) == 80 && c.owners() == 2 })
	if after := generation(t, b); after != before {
		t.Errorf("members were %q before the restart of one and %q after it; only its id may differ", before, after)
	}
}

// generation shows the members of the group by their instances, with what they were
// assigned.
func generation(t *testing.T, b *brokertest.Broker) string {
	t.Helper()
	q := kmsg.NewPtrDescribeGroupsRequest()
	q.Groups = []string{"g"}
	resp, err := q.RequestWith(t.Context(), b.Client())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range resp.Groups[0].Members {
		all = append(all, fmt.Sprintf("%s:%x", *m.InstanceID, m.MemberAssignment))
	}
	slices.Sort(all)
	return fmt.Sprint(resp.Groups[0].State, all)
}
