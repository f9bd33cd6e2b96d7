package conformance_test

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/mortisemq/mortise/cluster/nodetest"
	"github.com/mortisemq/mortise/conformance/transcript"
	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/meta"
)

// threeStatic are the keys that oracle/kafka.sh sets for three brokers.
var threeStatic = config.Static{
	"group.initial.rebalance.delay.ms": "0", "replica.lag.time.max.ms": "5000",
	"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500",
}

// trio is three brokers whose cluster decides in memory.
type trio struct {
	*testing.T
	brokers []*brokertest.Broker
}

// startTrio starts three brokers, and does for them what a controller does when one
// stops in order.
func startTrio(t *testing.T) transcript.Cluster {
	brokers, _ := brokertest.StartMany(t, 3, brokertest.Options{ClusterID: "AAAAAAAAQACAAAAAAAAAAA", Static: threeStatic, Racks: []string{"r1", "r2", "r3"}})
	c := &trio{t, brokers}
	return transcript.Cluster{Brokers: len(brokers),
		Dial: func(broker int) (net.Conn, error) { return brokers[broker-1].Dial() },
		Stop: c.stop, Start: c.start}
}

// stop has a broker give away what it leads, stops and fences it. Before that it makes the
// logs of all that was decided: one that was not made yet would be missing later.
func (c *trio) stop(broker int) error {
	b := c.brokers[broker-1]
	b.Settle()
	known, _ := b.Control.Image().Broker(b.ID)
	if err := b.Control.BeginShutdown(b.ID, known.Epoch); err != nil {
		return err
	}
	b.Stop()
	return b.Control.FenceBroker(b.ID, known.Epoch)
}

// start starts a broker again.
func (c *trio) start(broker int) error {
	c.brokers[broker-1].Restart()
	return nil
}

// TestThreeVoterTranscripts plays conversations with one of three brokers of a Kafka
// 4.4 that decide together. Which of them leads is any.
func TestThreeVoterTranscripts(t *testing.T) {
	each(t, "testdata/voters", func(t *testing.T, f *transcript.File) {
		c := nodetest.StartMany(t, 3, nodetest.Options{})
		awaitVoters(t, c.Nodes[0].Control())
		replay(t, f, c.Nodes[0].Dial)
	})
}

// awaitVoters waits until the leader has heard of each voter that it had everything.
func awaitVoters(t *testing.T, control meta.Control) {
	t.Helper()
	lags := func(v meta.QuorumReplica) bool { return v.LastCaughtUp.IsZero() }
	again, limit := time.NewTicker(10*time.Millisecond), time.After(nodetest.Patience)
	defer again.Stop()
	for q := control.Quorum(); len(q.Voters) < 3 || slices.ContainsFunc(q.Voters, lags); q = control.Quorum() {
		select {
		case <-again.C:
		case <-limit:
			t.Fatalf("voters are %+v after %v", q.Voters, nodetest.Patience)
		}
	}
}

// TestThreeBrokerTranscripts plays conversations with three brokers of a Kafka 4.4,
// of which some stop and start in between.
func TestThreeBrokerTranscripts(t *testing.T) {
	each(t, "testdata/three", func(t *testing.T, f *transcript.File) {
		bad, err := transcript.ReplayCluster(f, startTrio(t))
		report(t, bad, err)
	})
}
