package clustertest

import (
	"flag"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

var (
	fleetBrokers    = flag.Int("brokers", 20, "how many brokers TestScale has")
	fleetPartitions = flag.Int("partitions", 5000, "how many partitions they have, of three replicas")
	fleetTopic      = flag.Int("topic", 100, "how many partitions a topic has")
)

// The most bytes that travel to a node for a change, in a cluster of any size.
const (
	topicBytes     = 64 // a topic that is made, however many partitions it has
	brokerBytes    = 32 // a broker that comes, goes, or stops
	isrBytes       = 48 // one of many partitions whose ISR changes
	isrAloneBytes  = 64 // one that is alone in its command
	restartChanges = 8  // commands about a broker that is restarted, beside those of the leaders that take it back
)

// scale is what changes cost in one fleet.
type scale struct{ create, gone, back, storm, alone, rolling, balance, quiet costs }

// TestScale holds that what travels, and what is copied, for a change goes by the change
// and not by the cluster: by counts in clusters of different sizes. The times and sizes
// are for people.
func TestScale(t *testing.T) {
	small := playFleet(t, max(*fleetBrokers/2, 4), *fleetPartitions/2)
	large := playFleet(t, *fleetBrokers, *fleetPartitions)
	if a, b := small.alone.bytes, large.alone.bytes; b > a+a/8 { // longer numbers
		t.Errorf("one change of an ISR is %d bytes in a cluster of half the size, %d in the other", a, b)
	}
	if a, b := small.gone.bytes, large.gone.bytes; b > a+a/4 {
		t.Errorf("a broker that goes is %d bytes in a cluster of half the size, %d in the other", a, b)
	}
}

// playFleet plays everything in one fleet.
func playFleet(t *testing.T, brokers, partitions int) (s scale) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f := newFleet(t, brokers, partitions, *fleetTopic)
	s.create = *f.costs
	runtime.GC()
	runtime.ReadMemStats(&after)
	topics := s.create.commands
	snapshot := counter(0)
	if err := metadata.WriteSnapshot(&snapshot, f.image); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d brokers, %d partitions: an image takes some %d MiB, a snapshot %d KiB", brokers, partitions, (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20, snapshot>>10)
	f.lead()

	s.quiet = f.during(func() { f.pass(30 * time.Second) })
	s.alone = f.during(func() { f.shrinkOne(); f.catchUp() })
	s.gone = f.during(func() {
		f.brokers[3].up = false
		f.lost(3)
		f.pass(3 * time.Second)
	})
	s.back = f.during(func() {
		f.lost()
		f.register(3, false)
		f.pass(3 * time.Second)
		f.catchUp()
	})
	s.storm = f.during(func() {
		f.follow(func(p *meta.Partition) []kafka.BrokerID { return []kafka.BrokerID{p.Leader} })
		f.catchUp()
	})
	s.rolling = f.during(func() { f.restartAll() })
	s.balance = f.during(func() { f.pass(2 * time.Minute) })
	f.whole()

	s.create.show(t, "creation")
	s.quiet.show(t, "30 quiet seconds")
	s.alone.show(t, "an ISR shrinks and grows")
	s.gone.show(t, "a broker is lost")
	s.back.show(t, "it comes back without its records")
	s.storm.show(t, "every ISR shrinks to one and grows")
	s.rolling.show(t, "all brokers are restarted in order")
	s.balance.show(t, "leaders go back")
	s.hold(t, brokers, partitions, topics)
	return s
}

// hold compares with what is allowed.
func (s *scale) hold(t *testing.T, brokers, partitions, topics int) {
	most := func(what string, is, most int) {
		t.Helper()
		if is > most {
			t.Errorf("%s: %d, want at most %d", what, is, most)
		}
	}
	held := 3 * partitions / brokers // replicas of a broker
	most("bytes of a new topic", s.create.largest, topicBytes)
	most("commands while nothing happens", s.quiet.commands, 0)
	most("bytes of a change of one ISR", s.alone.largest, isrAloneBytes)
	most("topics that a change of one ISR copies, twice", s.alone.topics, 2)
	most("commands for a broker that is lost", s.gone.commands, 1)
	most("bytes for a broker that is lost", s.gone.bytes, brokerBytes)
	most("partitions that change when a broker is lost", s.gone.partitions, 2*held)
	most("commands for a broker that is back", s.back.commands, 2+brokers)
	most("bytes for a broker that is back", s.back.bytes, 2*brokerBytes+brokers*isrAloneBytes+2*held*isrBytes)
	most("commands of a storm", s.storm.commands, 2*(brokers+partitions/isrBatch))
	most("bytes of a storm", s.storm.bytes, 2*(brokers*isrAloneBytes+partitions*isrBytes))
	most("commands of a rolling restart", s.rolling.commands, brokers*(brokers+restartChanges))
	most("bytes of a rolling restart", s.rolling.bytes, brokers*(restartChanges*brokerBytes+brokers*isrAloneBytes+2*held*isrBytes))
	most("commands for leaders to go back", s.balance.commands, 1+partitions/1000)
}

// show tells people.
func (c *costs) show(t *testing.T, what string) {
	n := max(c.commands, 1)
	t.Logf("%-36s %6d commands, %8d bytes to each node (the largest %6d), %7d topics copied, %7d partitions changed, %8v a command to apply, controller %v in all",
		what, c.commands, c.bytes, c.largest, c.topics, c.partitions, (c.applying / time.Duration(n)).Round(time.Microsecond), c.deciding.Round(time.Microsecond))
}

// shrinkOne has one follower of one partition leave.
func (f *fleet) shrinkOne() {
	first := true
	f.follow(func(p *meta.Partition) []kafka.BrokerID {
		if !first {
			return p.ISR
		}
		first = false
		return []kafka.BrokerID{p.Leader, p.ISR[(slices.Index(p.ISR, p.Leader)+1)%len(p.ISR)]}
	})
}

// restartAll restarts every broker in order, one after the other.
func (f *fleet) restartAll() {
	for id := range kafka.BrokerID(len(f.brokers)) {
		b := &f.brokers[id]
		b.stopping = true
		for n := 0; b.up; n++ {
			if n > 60 {
				f.t.Fatalf("broker %d may not stop", id)
			}
			f.pass(beatStep)
		}
		f.register(id, true)
		f.pass(3 * time.Second)
		f.catchUp()
	}
}

// whole holds that everything is as it was at first.
func (f *fleet) whole() {
	for t := range f.image.Topics() {
		for n := range t.Partitions {
			if p := &t.Partitions[n]; len(p.ISR) != 3 || p.Leader != p.Replicas[0] {
				f.t.Fatalf("%s-%d at the end: %+v", t.Name, n, p)
			}
		}
	}
}

// counter counts bytes.
type counter int

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

var _ io.Writer = (*counter)(nil)
