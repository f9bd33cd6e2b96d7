package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// client is a client on a host of its own that begins with one node. It asks again soon: a
// broker may not have made yet what the cluster has decided.
func (q *quiet) client(n int, opts ...kgo.Opt) *kgo.Client {
	q.t.Helper()
	host := q.net.Host("10.0.0.9")
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(q.host(n) + ":9092"), kgo.ProducerLinger(0), kgo.DisableIdempotentWrite(), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.RecordDeliveryTimeout(5 * time.Second), kgo.ProduceRequestTimeout(2 * time.Second), kgo.MaxProduceRequestsInflightPerBroker(1),
		kgo.Dialer(func(ctx context.Context, _, address string) (net.Conn, error) { return host.Dial(ctx, address) })}, opts...)...)
	if err != nil {
		q.t.Fatal(err)
	}
	return c
}

// create makes a topic of one partition through a node.
func (q *quiet) create(n int, name string, configs map[string]string, replicas ...kafka.BrokerID) error {
	ctx, stop := context.WithTimeout(q.t.Context(), 20*time.Second)
	defer stop()
	r, err := q.nodes[n].Control().CreateTopics(ctx, []meta.NewTopic{{Name: name, Assignment: [][]kafka.BrokerID{replicas}, Configs: configs}}, false)
	if err == nil && r[0].Err != nil {
		err = r[0].Err
	}
	return err
}

// Without a majority of the voters nothing changes, and leaders serve on: what one copy
// is enough for is acknowledged, what others have to have is not, and all that was is read.
func TestNoMajorityStopsChangesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quietCluster(t, 3)
		defer q.stop()
		stays := kafka.BrokerID(q.voters(1))
		first, second := 1+stays%3, 1+(stays+1)%3
		n := int(stays)
		for name, replicas := range map[string][]kafka.BrokerID{"one": {stays}, "all": {stays, first, second}} {
			if err := q.create(n, name, map[string]string{"min.insync.replicas": "2"}, replicas...); err != nil {
				t.Fatal(err)
			}
		}
		produce := func(topic string, acks kgo.Acks) error {
			c := q.client(n, kgo.RequiredAcks(acks))
			defer c.Close()
			return c.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("v")}).FirstErr()
		}
		want := func(topic string, acks kgo.Acks) {
			t.Helper()
			if err := produce(topic, acks); err != nil {
				t.Errorf("%s: %v", topic, err)
			}
		}
		want("one", kgo.AllISRAcks())
		want("all", kgo.AllISRAcks())
		q.cut(int(first), false)
		q.cut(int(second), false)
		time.Sleep(time.Minute) // any session would have ended
		var refused *kafka.Error
		if err := q.create(n, "new", nil, stays); !errors.As(err, &refused) || refused.Code != kafka.ErrNotController && refused.Code != kafka.ErrRequestTimedOut {
			t.Errorf("a topic is made without a majority: %v, want an error to retry", err)
		}
		want("one", kgo.AllISRAcks())
		want("all", kgo.LeaderAck())
		if err := produce("all", kgo.AllISRAcks()); !errors.Is(err, kerr.RequestTimedOut) && !errors.Is(err, kgo.ErrRecordTimeout) {
			t.Errorf("acks=all without the other replicas: %v, want that it times out", err)
		}
		q.reads(n, "one", 2)
		q.reads(n, "all", 1) // what others do not have is not shown
		q.cut(int(first), true)
		q.cut(int(second), true)
		took := q.await(n, func(i *meta.Image) bool { return q.create(n, fmt.Sprint("new", i.Index), nil, stays) == nil })
		t.Logf("decides %v after the cut", took)
		took = q.await(n, func(*meta.Image) bool { return produce("all", kgo.AllISRAcks()) == nil })
		t.Logf("acknowledges acks=all after %v more", took)
	})
}

// reads wants a topic to have exactly so many records that consumers see.
func (q *quiet) reads(n int, topic string, count int) {
	q.t.Helper()
	c := q.client(n, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	ctx, stop := context.WithTimeout(q.t.Context(), 10*time.Second)
	defer stop()
	got := 0
	for ctx.Err() == nil {
		got += c.PollFetches(ctx).NumRecords()
	}
	if got != count {
		q.t.Errorf("%s has %d records, want %d", topic, got, count)
	}
}

// Keys are changed node by node while the cluster works: nobody is missed, decisions go
// on, and afterwards the old key opens nothing.
func TestKeysRotateWhileTheClusterWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, young := []byte("0123456789abcdef"), []byte("fedcba9876543210")
		q := quietCluster(t, 3, old)
		defer q.stop()
		q.voters(1)
		made := 0
		decide := func(n int) {
			t.Helper()
			made++
			if err := q.create(n, fmt.Sprint("t", made), nil, kafka.BrokerID(n)); err != nil {
				t.Errorf("through node %d: %v", n, err)
			}
		}
		for _, ring := range [][][]byte{{old, young}, {young, old}, {young}} {
			for n := 1; n <= 3; n++ {
				if err := q.nodes[n].SetGossipKeys(ring); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Second)
				for through := 1; through <= 3; through++ {
					decide(through)
				}
			}
		}
		if f := fenced(q.nodes[1].Control().Image()); len(f) != 0 {
			t.Errorf("%v are fenced after the rotation", f)
		}
		q.keys = [][]byte{young}
		q.start(4)
		q.await(1, func(i *meta.Image) bool { b, ok := i.Broker(4); return ok && b.Active() })
	})
}
