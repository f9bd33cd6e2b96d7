package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is a raw connection to a broker.
type conn struct {
	net.Conn
	in   *bufio.Reader
	corr int32
}

// readBytes of an answer are read at once: few calls, and the buffer stays in the
// processor's cache.
const readBytes = 256 << 10

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 2*time.Second)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, in: bufio.NewReaderSize(c, readBytes)}, nil
}

func (c *conn) close() { _ = c.Close() } // nothing is lost with a client's socket

// frame encodes a request; its correlation id stands in bytes 8 to 12.
func frame(req kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("bench")).AppendRequest(nil, req, 0)
}

// call sends a request and reads its answer.
func (c *conn) call(req kmsg.Request) (kmsg.Response, error) {
	c.corr++
	f := frame(req)
	binary.BigEndian.PutUint32(f[8:], uint32(c.corr))
	if err := c.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := c.Write(f); err != nil {
		return nil, err
	}
	body, err := c.read(nil)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	skip := 4
	if req.IsFlexible() && req.Key() != 18 {
		skip++
	}
	return resp, resp.ReadFrom(body[skip:])
}

// read reads one answer, correlation id included, into buf if it is large enough.
func (c *conn) read(buf []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n < 4 || n > 128<<20 {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err := io.ReadFull(c.in, buf)
	return buf, err
}

func (c *conn) metadata(topics []string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 9
	for _, t := range topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(t)
		req.Topics = append(req.Topics, topic)
	}
	resp, err := c.call(req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.MetadataResponse), nil
}

// createTopics makes topics of so many partitions each in one request and waits
// until every partition has a leader.
func createTopics(addr string, partitions int32, names ...string) error {
	return createTopicsWith(addr, partitions, nil, nil, names...)
}

// createTopicsWith is createTopics with configs, and with replicas on the brokers, of
// which the first leads every partition; nil: one, wherever it is put.
func createTopicsWith(addr string, partitions int32, replicas []int32, configs map[string]string, names ...string) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 5, 60_000
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
		if replicas != nil {
			t.NumPartitions, t.ReplicationFactor = -1, -1
			for p := range partitions {
				t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: p, Replicas: replicas})
			}
		}
		for name, value := range configs {
			t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: name, Value: &value})
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := c.call(req)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if t.ErrorCode != 0 {
			return fmt.Errorf("create %s: error %d", t.Topic, t.ErrorCode)
		}
	}
	for _, name := range names {
		if err := c.awaitLeaders(name, partitions); err != nil {
			return err
		}
	}
	return nil
}

// awaitLeaders asks for the end of each partition until all have one: a broker
// may name a leader that does not lead yet.
func (c *conn) awaitLeaders(topic string, partitions int32) error {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 5, -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for p := range partitions {
		lp := kmsg.NewListOffsetsRequestTopicPartition()
		lp.Partition, lp.Timestamp, lp.CurrentLeaderEpoch = p, -1, -1
		t.Partitions = append(t.Partitions, lp)
	}
	req.Topics = append(req.Topics, t)
	for {
		resp, err := c.call(req)
		if err != nil {
			return err
		}
		led := int32(0)
		for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode == 0 {
					led++
				}
			}
		}
		if led == partitions {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}
