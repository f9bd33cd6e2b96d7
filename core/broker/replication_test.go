package broker_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vnet"
)

// trio is three brokers that replicate, inside a bubble whose clock tells what was
// waited for.
type trio struct {
	*testing.T
	brokers []*brokertest.Broker
	net     *vnet.Mem
}

// replicate runs a test with three brokers.
func replicate(t *testing.T, o brokertest.Options, test func(*trio)) {
	synctest.Test(t, func(t *testing.T) {
		brokers, network := brokertest.StartMany(t, 3, o)
		test(&trio{t, brokers, network})
	})
}

// on are replicas.
func on(ids ...kafka.BrokerID) []kafka.BrokerID { return ids }

// topic makes topic t, which all brokers know of then.
func (s *trio) topic(configs map[string]string, replicas ...[]kafka.BrokerID) {
	s.Helper()
	s.brokers[0].AssignTopic("t", configs, replicas...)
	synctest.Wait()
}

// producer makes a client that writes to one partition of topic t and does not wait
// for more records.
func (s *trio) producer(at int, opts ...kgo.Opt) *kgo.Client {
	return s.brokers[at].Client(append([]kgo.Opt{kgo.DefaultProduceTopic("t"), kgo.ProducerLinger(0),
		kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
}

// write writes records and waits for their acknowledgements.
func (s *trio) write(c *kgo.Client, partition int32, n int) {
	s.Helper()
	ctx, stop := context.WithTimeout(s.Context(), time.Minute) // of the bubble
	defer stop()
	for i := range n {
		r := &kgo.Record{Partition: partition, Value: fmt.Appendf(nil, "record %d", i)}
		if err := c.ProduceSync(ctx, r).FirstErr(); err != nil {
			s.Fatalf("record %d: %v", i, err)
		}
	}
}

// log is the bytes of the first segment of a partition on a broker.
func (s *trio) log(at int, partition int) []byte {
	s.Helper()
	name := fmt.Sprintf("/data/logs/t-%d/00000000000000000000.log", partition)
	f, err := s.brokers[at].FS().OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	if err != nil {
		s.Fatal(err)
	}
	return b
}

// alike checks that all brokers have the same bytes of a partition.
func (s *trio) alike(partition int) {
	s.Helper()
	first := s.log(0, partition)
	if len(first) == 0 {
		s.Fatalf("partition %d is empty", partition)
	}
	for at := 1; at < len(s.brokers); at++ {
		if other := s.log(at, partition); !bytes.Equal(first, other) {
			s.Errorf("partition %d: broker %d has %d bytes, broker 1 %d, and they differ", partition, at+1, len(other), len(first))
		}
	}
}

// TestAcksAllWaitsForNoPoll: what three brokers have is acknowledged at once, and all
// have the same bytes. The first record of a new topic waits until all know of it, which
// is no poll either.
func TestAcksAllWaitsForNoPoll(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.topic(map[string]string{"min.insync.replicas": "3"}, on(1, 2, 3), on(2, 3, 1), on(3, 1, 2))
		c := s.producer(0)
		begin := time.Now()
		for partition := range int32(3) {
			s.write(c, partition, 1)
		}
		if waited := time.Since(begin); waited > 50*time.Millisecond {
			s.Errorf("the first acknowledgements took %v", waited)
		}
		begin = time.Now()
		for partition := range int32(3) {
			s.write(c, partition, 20)
		}
		if waited := time.Since(begin); waited > 0 {
			s.Errorf("60 acknowledgements waited for %v of polls", waited)
		}
		for partition := range 3 {
			s.alike(partition)
		}
	})
}

// fence has the cluster miss a broker.
func (s *trio) fence(id kafka.BrokerID) {
	s.Helper()
	b, _ := s.brokers[0].Control.Image().Broker(id)
	if err := s.brokers[0].Control.FenceBroker(id, b.Epoch); err != nil {
		s.Fatal(err)
	}
	synctest.Wait() // until all know
}

// await waits until the in-sync replicas of a partition are so many.
func (s *trio) await(partition, inSync int) {
	s.Helper()
	for range 6000 {
		topic, _ := s.brokers[0].Control.Image().Topic("t")
		if len(topic.Partitions[partition].ISR) == inSync {
			return
		}
		time.Sleep(10 * time.Millisecond) // of the bubble
	}
	topic, _ := s.brokers[0].Control.Image().Topic("t")
	s.Fatalf("in sync are %v, want %d", topic.Partitions[partition].ISR, inSync)
}

// TestFailover: the leader's host dies, another leads and has everything that was
// acknowledged; the old leader comes back, follows, and has the same bytes.
func TestFailover(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.topic(map[string]string{"min.insync.replicas": "2"}, on(1, 2, 3))
		c := s.producer(1)
		s.write(c, 0, 20)
		s.brokers[0].Stop()
		s.fence(1)
		s.write(c, 0, 20)
		s.brokers[0].Restart()
		s.await(0, 3)
		s.write(c, 0, 20)
		s.alike(0)
		topic, _ := s.brokers[0].Control.Image().Topic("t")
		if p := topic.Partitions[0]; p.Leader != 2 {
			s.Errorf("%d leads, want 2", p.Leader)
		}
	})
}

// TestKIP101DivergedReplicaIsTruncated: what a leader has alone, because its network is
// cut, goes when it follows again, and what was acknowledged stays.
func TestKIP101DivergedReplicaIsTruncated(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.topic(map[string]string{"min.insync.replicas": "2"}, on(1, 2, 3))
		s.write(s.producer(1), 0, 20)
		for _, other := range []string{"broker2", "broker3"} {
			s.net.Cut("broker1", other)
			s.net.Reset("broker1", other)
		}
		alone := s.producer(0, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
		s.write(alone, 0, 7) // nobody else has them
		alone.Close()
		s.fence(1)
		c := s.producer(1)
		s.write(c, 0, 20)
		if bytes.Equal(s.log(0, 0), s.log(1, 0)) {
			s.Fatal("the logs did not part: this test shows nothing")
		}
		for _, other := range []string{"broker2", "broker3"} {
			s.net.Heal("broker1", other)
		}
		s.brokers[0].Restart()
		s.await(0, 3)
		s.write(c, 0, 1)
		s.alike(0)
	})
}

// TestReplicaWithAnEmptyDiskFillsItself (REPL-13, REPL-19), without a new record.
func TestReplicaWithAnEmptyDiskFillsItself(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.topic(nil, on(1, 2, 3))
		c := s.producer(0)
		s.write(c, 0, 50)
		s.fence(3)
		s.brokers[2].RestartOn(vfs.NewMem())
		s.await(0, 3)
		s.alike(0)
	})
}

// TestProduceTimesOutAndStays: without its followers an append with acks=all is answered
// REQUEST_TIMED_OUT after timeout.ms, stays in the log, and is committed when they come
// back.
func TestProduceTimesOutAndStays(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.topic(nil, on(1, 2, 3))
		s.write(s.producer(0), 0, 1)
		s.net.Cut("broker1", "broker3")
		s.net.Reset("broker1", "broker3")
		c := s.producer(0, kgo.ProduceRequestTimeout(2*time.Second), kgo.RecordRetries(0), kgo.DisableIdempotentWrite())
		begin := time.Now()
		err := c.ProduceSync(s.Context(), &kgo.Record{Value: []byte("late")}).FirstErr()
		if err == nil || time.Since(begin).Round(100*time.Millisecond) != 2*time.Second {
			s.Errorf("after %v: %v", time.Since(begin), err)
		}
		s.net.Heal("broker1", "broker3")
		s.write(c, 0, 1)
		s.alike(0)
	})
}

// TestKIP107DeleteRecordsWaitsForFollowers: the answer comes at once when all are there,
// and REQUEST_TIMED_OUT when one is not.
func TestKIP107DeleteRecordsWaitsForFollowers(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.topic(nil, on(1, 2, 3))
		c := s.producer(0)
		s.write(c, 0, 20)
		begin := time.Now()
		if low, code := s.deleteRecords(c, 10); low != 10 || code != 0 || time.Since(begin) > 0 {
			s.Errorf("low watermark %d, code %d, after %v", low, code, time.Since(begin))
		}
		s.net.Cut("broker1", "broker3")
		begin = time.Now()
		if low, code := s.deleteRecords(c, 15); low != 10 || code != 7 || time.Since(begin).Round(100*time.Millisecond) != 3*time.Second {
			s.Errorf("without broker 3: low watermark %d, code %d, after %v", low, code, time.Since(begin))
		}
		s.net.Heal("broker1", "broker3")
	})
}

// deleteRecords asks broker 1 to delete what is before an offset.
func (s *trio) deleteRecords(c *kgo.Client, before int64) (low int64, code int16) {
	s.Helper()
	q := kmsg.NewPtrDeleteRecordsRequest()
	q.TimeoutMillis = 3000
	topic, p := kmsg.NewDeleteRecordsRequestTopic(), kmsg.NewDeleteRecordsRequestTopicPartition()
	topic.Topic, p.Offset = "t", before
	topic.Partitions = append(topic.Partitions, p)
	q.Topics = append(q.Topics, topic)
	resp, err := c.Broker(1).Request(s.Context(), q)
	if err != nil {
		s.Fatal(err)
	}
	out := resp.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
	return out.LowWatermark, out.ErrorCode
}

// TestReplicaThatWasAwayForTooLongBeginsAnew where the leader's log starts by then.
func TestReplicaThatWasAwayForTooLongBeginsAnew(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.topic(nil, on(1, 2, 3))
		c := s.producer(0)
		s.write(c, 0, 20)
		s.brokers[2].Stop()
		s.fence(3)
		s.write(c, 0, 30)
		if low, code := s.deleteRecords(c, 40); low != 40 || code != 0 {
			s.Fatalf("low watermark %d, code %d", low, code)
		}
		s.brokers[2].Restart()
		s.await(0, 3)
		s.write(c, 0, 1)
		s.fence(1)
		s.fence(2)
		consumer := s.brokers[2].Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
		f := consumer.PollRecords(s.Context(), 100)
		if r := f.Records(); len(r) != 11 || r[0].Offset != 40 || string(r[0].Value) != "record 20" {
			s.Errorf("broker 3 has %d records: %+v", len(r), r)
		}
	})
}

// TestAllStopAtOnce: brokers that stop together, with clients and each other as clients,
// end as soon as one alone.
func TestAllStopAtOnce(t *testing.T) {
	replicate(t, brokertest.Options{}, func(s *trio) {
		s.topic(map[string]string{"min.insync.replicas": "2"}, on(1, 2, 3), on(2, 3, 1), on(3, 1, 2))
		c := s.producer(0, kgo.RecordRetries(0), kgo.DisableIdempotentWrite())
		s.write(c, 0, 10)
		s.net.Cut("broker1", "broker3")
		c.Produce(s.Context(), &kgo.Record{Value: []byte("late")}, nil) // waits for broker 3
		synctest.Wait()
		begin := time.Now()
		var stops sync.WaitGroup
		for _, b := range s.brokers {
			stops.Go(b.Stop)
		}
		stops.Wait()
		if took := time.Since(begin); took > 3*time.Second {
			s.Errorf("the stop took %v", took)
		}
		s.net.Heal("broker1", "broker3")
	})
}
