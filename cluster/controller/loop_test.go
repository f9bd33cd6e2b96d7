package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
)

// cluster is a control plane without raft: three nodes that share an image, and loops
// and beaters on it.
type cluster struct {
	t       *testing.T
	publish *meta.Publisher
	loops   map[kafka.BrokerID]*Loop
	leads   map[kafka.BrokerID]chan bool
	beaters map[kafka.BrokerID]*Beater
	metrics *metrics.Registry

	mu     sync.Mutex
	leader kafka.BrokerID          // guarded by mu, as all that follows
	dead   map[kafka.BrokerID]bool // do not answer
	lost   []kafka.BrokerID        // by gossip
	voters map[kafka.BrokerID]bool
	again  []kafka.BrokerID // registered again
	full   map[kafka.BrokerID]bool
}

func newCluster(t *testing.T, ids ...kafka.BrokerID) *cluster {
	c := &cluster{t: t, metrics: metrics.NewRegistry(), publish: meta.NewPublisher(meta.Empty("c")), loops: map[kafka.BrokerID]*Loop{},
		leads: map[kafka.BrokerID]chan bool{}, beaters: map[kafka.BrokerID]*Beater{},
		dead: map[kafka.BrokerID]bool{}, voters: map[kafka.BrokerID]bool{}, full: map[kafka.BrokerID]bool{}, leader: kafka.NoBroker}
	for _, id := range ids {
		c.voters[id] = id == ids[0]
		c.register(id)
		c.leads[id] = make(chan bool, 1)
		c.loops[id] = Start(Options{Config: Config{Self: id}, Image: c.publish.Image, Watch: c.publish.Watch, Leadership: c.leads[id],
			Members: c.members, Propose: c.propose, Change: c.change, Ping: c.ping, Lost: c.gossip, Metrics: c.metrics})
		c.beaters[id] = Beat(BeaterOptions{ID: id, Epoch: func() kafka.BrokerEpoch { return c.epoch(id) },
			Applied: func() uint64 { return c.publish.Image().Index }, Send: c.send, Full: func() bool { return c.isFull(id, nil) },
			Register: func(context.Context) error {
				c.register(id)
				c.mu.Lock()
				defer c.mu.Unlock()
				c.again = append(c.again, id)
				return nil
			}})
	}
	return c
}

// close ends everything.
func (c *cluster) close() {
	for _, b := range c.beaters {
		b.Close()
	}
	for _, l := range c.loops {
		l.Close()
	}
}

func (c *cluster) register(id kafka.BrokerID) {
	if _, err := c.propose(context.Background(), &metadata.RegisterBroker{ID: id, CleanShutdown: true}); err != nil {
		c.t.Error(err)
	}
}

func (c *cluster) epoch(id kafka.BrokerID) kafka.BrokerEpoch {
	if b, ok := c.publish.Image().Broker(id); ok {
		return b.Epoch
	}
	return 1
}

// isFull says whether a broker has no room, after making that so unless now is nil.
func (c *cluster) isFull(id kafka.BrokerID, now *bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now != nil {
		c.full[id] = *now
	}
	return c.full[id]
}

// elect makes a node leader.
func (c *cluster) elect(id kafka.BrokerID) {
	c.mu.Lock()
	before := c.leader
	c.leader = id
	c.mu.Unlock()
	if before != kafka.NoBroker {
		c.leads[before] <- false
	}
	c.leads[id] <- true
}

func (c *cluster) propose(_ context.Context, cmd metadata.Command) (metadata.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	image := c.publish.Image()
	next, r := metadata.Apply(image, image.Index+1, cmd)
	c.publish.Publish(next)
	return r, nil
}

func (c *cluster) members(context.Context) (all []Member, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, votes := range c.voters {
		all = append(all, Member{ID: id, Voter: votes})
	}
	return all, nil
}

func (c *cluster) change(_ context.Context, v VoterChange) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.voters[v.ID] = v.Kind == Promote
	return nil
}

func (c *cluster) ping(ctx context.Context, id kafka.BrokerID) error {
	c.mu.Lock()
	dead := c.dead[id]
	c.mu.Unlock()
	if dead {
		<-ctx.Done() // as behind a dead router
		return ctx.Err()
	}
	return nil
}

func (c *cluster) gossip() []kafka.BrokerID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lost)
}

func (c *cluster) send(ctx context.Context, body []byte) ([]byte, error) {
	var h Heartbeat
	if err := decode(body, &h); err != nil {
		return nil, err
	}
	c.mu.Lock()
	leader, dead := c.leader, c.dead[h.ID]
	c.mu.Unlock()
	if dead || leader == kafka.NoBroker {
		return nil, errors.New("unreachable")
	}
	return c.loops[leader].Answer(ctx, body)
}

// kill makes a node deaf and dumb, as gossip notices a moment later.
func (c *cluster) kill(id kafka.BrokerID) {
	c.mu.Lock()
	c.dead[id] = true
	c.lost = append(c.lost, id)
	c.mu.Unlock()
	for _, l := range c.loops {
		l.Suspect()
	}
}

func (c *cluster) revive(id kafka.BrokerID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead[id] = false
	c.lost = slices.DeleteFunc(c.lost, func(other kafka.BrokerID) bool { return other == id })
}

// wantFenced wants exactly these brokers to be fenced.
func (c *cluster) wantFenced(ids ...kafka.BrokerID) {
	c.t.Helper()
	var fenced []kafka.BrokerID
	for b := range c.publish.Image().Brokers() {
		if b.Fenced {
			fenced = append(fenced, b.ID)
		}
	}
	slices.Sort(fenced)
	if !slices.Equal(fenced, ids) {
		c.t.Errorf("fenced %v, want %v", fenced, ids)
	}
}

func TestLoopFencesAndBringsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2, 3)
		defer c.close()
		c.elect(1)
		time.Sleep(5 * time.Second)
		c.wantFenced()
		if members, _ := c.members(t.Context()); slices.ContainsFunc(members, func(m Member) bool { return !m.Voter }) {
			t.Errorf("members %v, want three voters", members)
		}
		c.kill(2)
		time.Sleep(2*PingTimeout + time.Millisecond)
		c.wantFenced(2)
		c.revive(2)
		time.Sleep(3 * time.Second)
		c.wantFenced()
		counts := newCounts(c.metrics)
		got := [...]uint64{counts.fenced.Load(), counts.unfenced.Load(), counts.voters.Load(), counts.pings.Load(), counts.mute.Load(), counts.failed.Load()}
		if want := [...]uint64{1, 1, 2, 5, 2, 0}; got != want {
			t.Errorf("fences, unfences, voters, pings, unanswered, failed: %v, want %v", got, want)
		}
		if ages := c.loops[1].Ages(t.Context()); len(ages) != 3 || ages[2] > 3*time.Second {
			t.Errorf("heartbeats are %v old", ages)
		}
		if ages := c.loops[2].Ages(t.Context()); len(ages) != 0 {
			t.Errorf("who does not lead knows %v", ages)
		}
	})
}

func TestNewLeaderFencesTheDeadOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2, 3)
		defer c.close()
		c.elect(1)
		time.Sleep(5 * time.Second)
		c.mu.Lock()
		c.dead[1] = true // nobody noticed yet
		c.mu.Unlock()
		c.elect(2)
		time.Sleep(2*PingTimeout + time.Millisecond)
		c.wantFenced(1)
		if _, err := c.loops[1].Heartbeat(t.Context(), Heartbeat{ID: 1}); !errors.Is(err, ErrNotLeading) {
			t.Errorf("the former leader answers: %v", err)
		}
		time.Sleep(time.Minute)
		c.wantFenced(1)
	})
}

func TestStopWaitsUntilItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2, 3, 4)
		defer c.close()
		if _, err := c.propose(t.Context(), &metadata.CreateTopics{Topics: []metadata.NewTopic{
			{Name: "t", ID: kafka.TopicID{1}, Assignment: [][]kafka.BrokerID{{2, 4}}}}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.beaters[2].Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nobody leads: %v", err)
		}
		begin := time.Now()
		if err := c.beaters[3].Stop(t.Context()); !errors.Is(err, ErrNoLeader) || time.Since(begin) != stopPatience {
			t.Errorf("nobody leads: %v after %v", err, time.Since(begin))
		}
		c.elect(1)
		begin = time.Now()
		if err := c.beaters[2].Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		topic, _ := c.publish.Image().Topic("t")
		if leader := topic.Partitions[0].Leader; leader != 4 {
			t.Errorf("it may stop and the leader is %d", leader)
		}
		if d := time.Since(begin); d > 2*time.Second {
			t.Errorf("it took %v", d)
		}
		time.Sleep(time.Second)
		c.wantFenced(2, 3) // both wanted to stop
	})
}

// TestLeadershipThatComesBackIsANewTerm holds that a leader that was another for a moment,
// which it may hear of only when it is over, gives everybody a new session.
func TestLeadershipThatComesBackIsANewTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2, 3)
		defer c.close()
		c.elect(1)
		time.Sleep(5 * time.Second)
		before := c.loops[1].counts.pings.Load()
		c.leads[1] <- true
		time.Sleep(time.Millisecond)
		if n := c.loops[1].counts.pings.Load() - before; n != 2 {
			t.Errorf("%d of the 2 others were pinged", n)
		}
		for id, age := range c.loops[1].Ages(t.Context()) {
			if age > time.Millisecond {
				t.Errorf("the session of %d began %v ago", id, age)
			}
		}
	})
}

func TestSupersededBrokerMayStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2)
		defer c.close()
		c.elect(1)
		before := c.epoch(2)
		c.beaters[2].Close()
		c.beaters[2] = Beat(BeaterOptions{ID: 2, Epoch: func() kafka.BrokerEpoch { return before },
			Applied: func() uint64 { return c.publish.Image().Index }, Send: c.send})
		c.register(2) // another process
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.beaters[2].Stop(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestForgottenBrokerRegistersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2)
		defer c.close()
		c.elect(1)
		time.Sleep(3 * time.Second)
		if _, err := c.propose(t.Context(), &metadata.UnregisterBroker{ID: 2}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, ok := c.publish.Image().Broker(2); !ok || !slices.Equal(c.again, []kafka.BrokerID{2}) {
			t.Errorf("registered again: %v", c.again)
		}
	})
}

// A node that was removed from the control log when its broker registered finds no leader:
// it asks to be let in, again and again.
func TestBrokerWithoutALeaderAsksToBeLetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, heard atomic.Int32
		var rejoined time.Time  // the beater's own
		var waited atomic.Int64 // from then to the first heartbeat that was heard
		b := Beat(BeaterOptions{ID: 2, Epoch: func() kafka.BrokerEpoch { return 1 }, Applied: func() uint64 { return 1 },
			Send: func(context.Context, []byte) ([]byte, error) {
				if asked.Load() < 2 {
					return nil, errors.New("nobody leads")
				}
				if heard.Add(1) == 1 {
					waited.Store(int64(time.Since(rejoined)))
				}
				return encode(&Answer{Status: Known})
			},
			Register: func(context.Context) error { return nil },
			Rejoin: func(context.Context) error {
				rejoined = time.Now()
				if asked.Add(1) == 1 {
					return errors.New("nobody is there")
				}
				return nil
			}})
		defer b.Close()
		time.Sleep(rejoinAfter - time.Second)
		if n := asked.Load(); n != 0 {
			t.Errorf("asked %d times while an election may take that long", n)
		}
		time.Sleep(rejoinAfter + 10*time.Second)
		if asked.Load() != 2 || heard.Load() == 0 {
			t.Errorf("asked %d times, %d heartbeats were heard", asked.Load(), heard.Load())
		}
		if d := time.Duration(waited.Load()); d != beatRetry {
			t.Errorf("a heartbeat came %v after the node was let in, want %v", d, beatRetry)
		}
		time.Sleep(2 * rejoinAfter)
		if n := asked.Load(); n != 2 {
			t.Errorf("asked %d times although a leader hears it", n)
		}
	})
}

// That a broker has no room is known at once, kept by the next leader, and ends with a new
// registration; it is decided when it changes, and not with each heartbeat.
func TestFullBrokerIsKnownAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2)
		defer c.close()
		c.elect(1)
		time.Sleep(3 * time.Second)
		is := func(want bool) {
			t.Helper()
			synctest.Wait()
			if b, _ := c.publish.Image().Broker(2); b.Full != want {
				t.Fatalf("full %v, want %v", b.Full, want)
			}
		}
		for _, full := range []bool{true, false, true} {
			c.isFull(2, &full)
			c.beaters[2].RoomChanged()
			is(full)
			before := c.publish.Image().Index
			c.beaters[2].RoomChanged()
			time.Sleep(10 * time.Second)
			is(full)
			if after := c.publish.Image().Index; after != before {
				t.Errorf("%d decisions about what was known", after-before)
			}
		}
		c.elect(2)
		time.Sleep(10 * time.Second)
		is(true)
		c.register(2)
		is(false)
		time.Sleep(3 * time.Second)
		is(true)
	})
}

func FuzzAnswer(f *testing.F) {
	for _, v := range []any{&Heartbeat{ID: 1, Epoch: 5, Applied: 9, Stopping: true}, &Answer{Status: Superseded, Stop: true}, []int{1, 2}} {
		b, err := encode(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(make([]byte, messageMax+1))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Heartbeat
		if err := decode(b, &h); err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%v", err)
			}
			return
		}
		again, err := encode(&h)
		if err != nil {
			t.Fatal(err)
		}
		var same Heartbeat
		if err := decode(again, &same); err != nil || same != h {
			t.Errorf("%+v became %+v, %v", h, same, err)
		}
	})
}
