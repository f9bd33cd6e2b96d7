package broker_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/internal/server"
	"github.com/mortisemq/mortise/core/kafka"
)

// remove deletes a topic.
func remove(t *testing.T, c *kgo.Client, topic string) {
	t.Helper()
	deleted, err := kadm.NewClient(c).DeleteTopics(t.Context(), topic)
	if err != nil || deleted.Error() != nil {
		t.Fatalf("delete %s: %v, %v", topic, err, deleted.Error())
	}
}

// A consumer that goes on asking for a topic that was deleted, and does not allow
// that it is made, does not bring it back.
func TestMETA04DeletedTopicStaysDeleted(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{})
	b.CreateTopic("a", 3, nil)
	c := b.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	produce(t, c, "a", 0, 10)
	reader := b.Client(kgo.ConsumeTopics("a"))
	defer reader.Close()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	if err := reader.PollFetches(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	remove(t, c, "a")
	for range 20 {
		q := kmsg.NewPtrMetadataRequest()
		one := kmsg.NewMetadataRequestTopic()
		one.Topic = kmsg.StringPtr("a")
		q.Topics = append(q.Topics, one)
		resp, err := q.RequestWith(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		if got := kafka.ErrorCode(resp.Topics[0].ErrorCode); got != kafka.ErrUnknownTopicOrPartition {
			t.Fatalf("metadata of the deleted topic: %v", got)
		}
	}
	if _, exists := b.Control.Image().Topic("a"); exists {
		t.Fatal("the topic is back")
	}
}

// A consumer whose topic was made anew gets an answer that it can start again
// from, and reads the new records.
func TestMETA10RecreatedTopicIsReadFromItsStart(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{})
	b.CreateTopic("a", 1, nil)
	c := b.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(10*time.Millisecond))
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	send := func(value string, n int) {
		t.Helper()
		for range n {
			err := c.ProduceSync(ctx, &kgo.Record{Topic: "a", Value: []byte(value)}).FirstErr()
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	send("old", 10)
	remove(t, c, "a")
	b.CreateTopic("a", 1, nil)
	c.PurgeTopicsFromClient("a")
	send("new", 5)
	reader := b.Client(kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"a": {0: kgo.NewOffset().At(10)}}))
	defer reader.Close()
	for n := 0; n < 5; {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%d of 5 records came: %v", n, fetches.Err())
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if string(r.Value) != "new" || r.Offset != int64(n) {
				t.Errorf("record %q at %d, want a new one at %d", r.Value, r.Offset, n)
			}
			n++
		})
	}
}

// frame is a request as it goes over the wire.
func frame(q kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, q, 1)
}

// A slow reader of a large answer gets all of it, though the topic is deleted
// meanwhile.
func TestSlowReaderOfADeletedTopic(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{Loopback: true})
	b.CreateTopic("a", 1, map[string]string{"max.message.bytes": "9000000", "file.delete.delay.ms": "0"})
	c := b.Client(kgo.ProducerBatchMaxBytes(9_000_000), kgo.ProducerBatchCompression(kgo.NoCompression()))
	value := bytes.Repeat([]byte("0123456789abcdef"), 8_000_000/16)
	if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "a", Value: value}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	q := kmsg.NewPtrFetchRequest()
	q.Version, q.MaxBytes, q.SessionEpoch = 11, 50<<20, -1
	topic, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	topic.Topic, p.PartitionMaxBytes = "a", 50<<20
	topic.Partitions = append(topic.Partitions, p)
	q.Topics = append(q.Topics, topic)
	conn, err := b.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(frame(q)); err != nil {
		t.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil { // so the answer was planned
		t.Fatal(err)
	}
	remove(t, c, "a")
	answer := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, answer); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(answer, value) {
		t.Errorf("answer of %d bytes without the record", len(answer))
	}
}

// Only produce requests may be as large as socket.request.max.bytes: what others
// are turned into is many times their size.
func TestLargeOrdinaryRequestIsRefused(t *testing.T) {
	b := brokertest.Start(t, brokertest.Options{})
	for _, key := range []byte{1, 2, 3, 19, 32} {
		conn, err := b.Dial()
		if err != nil {
			t.Fatal(err)
		}
		head := binary.BigEndian.AppendUint32(nil, server.MaxOrdinary+1)
		conn.Write(append(head, 0, key, 0, 4)) // may be cut off by the close
		conn.SetReadDeadline(time.Now().Add(patience))
		if n, err := conn.Read(head); n != 0 || err == nil || isTimeout(err) {
			t.Errorf("key %d: %d bytes, error %v; want a closed connection", key, n, err)
		}
		conn.Close()
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}
