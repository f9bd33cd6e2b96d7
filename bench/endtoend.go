package main

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/record"
)

// endToEndLoad sends batches at a steady rate on one connection and fetches
// them on another, with long polls, and measures from before the write to after
// the read. Both ends are in this process, so one clock tells.
type endToEndLoad struct {
	topic      string
	partitions int
	batchBytes int
	rateBytes  int64 // a second
	duration   time.Duration
}

// stampOffset is where the send time stands: in the value of the first record,
// behind the batch header and the record's own few bytes.
const stampOffset = record.HeaderSize + 16

func (l endToEndLoad) run(addr string) (result, error) {
	reader, err := dial(addr)
	if err != nil {
		return result{}, err
	}
	defer reader.close()
	writer, err := dial(addr)
	if err != nil {
		return result{}, err
	}
	defer writer.close()
	count := int(int64(l.duration.Seconds()*float64(l.rateBytes)) / int64(l.batchBytes))
	errs := make(chan error, 2)
	go func() { errs <- l.send(writer, count) }()
	go func() { errs <- drain(writer, count) }()
	start := time.Now()
	r, err := l.receive(reader, count)
	r.elapsed = time.Since(start)
	return r, errors.Join(err, <-errs, <-errs)
}

// send writes batches when they are due, each with its send time inside.
func (l endToEndLoad) send(c *conn, count int) error {
	b := batch(1, l.batchBytes-record.HeaderSize-20)
	gap := time.Duration(float64(time.Second) * float64(l.batchBytes) / float64(l.rateBytes))
	table := crc32.MakeTable(crc32.Castagnoli)
	start := time.Now()
	for i := range count {
		time.Sleep(time.Until(start.Add(time.Duration(i) * gap)))
		binary.BigEndian.PutUint64(b[stampOffset:], uint64(time.Now().UnixNano()))
		binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], table))
		one := produceLoad{topic: l.topic, partitions: l.partitions, perRequest: 1}
		if _, err := c.Write(one.request(i%l.partitions, b)); err != nil {
			return err
		}
	}
	return nil
}

func drain(c *conn, count int) error {
	var buf []byte
	var err error
	for range count {
		if buf, err = c.read(buf); err != nil {
			return err
		}
	}
	return nil
}

// receive fetches with long polls until every batch has come.
func (l endToEndLoad) receive(c *conn, count int) (result, error) {
	r := result{}
	next := make([]int64, l.partitions)
	load := consumeLoad{topic: l.topic, partitions: l.partitions, partitionBytes: 1 << 20}
	var buf []byte
	for int(r.requests) < count {
		f := load.longPoll(next)
		if _, err := c.Write(f); err != nil {
			return r, err
		}
		var err error
		if buf, err = c.read(buf); err != nil {
			return r, err
		}
		now := time.Now().UnixNano()
		n, err := load.walkEach(buf, next, func(b record.Batch) {
			sent := int64(binary.BigEndian.Uint64(b[stampOffset:]))
			r.latency = append(r.latency, time.Duration(now-sent))
			r.requests++
		})
		if err != nil {
			return r, err
		}
		r.bytes += n
	}
	return r, nil
}

// longPoll is a Fetch that waits for the first byte, as consumers do.
func (l consumeLoad) longPoll(next []int64) []byte {
	return l.fetch(next, 500, 1)
}

func (l consumeLoad) fetch(next []int64, waitMS, minBytes int32) []byte {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 11, waitMS, minBytes, 50<<20
	req.SessionEpoch, req.ReplicaID = -1, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = l.topic
	for p, offset := range next {
		fp := kmsg.NewFetchRequestTopicPartition()
		fp.Partition, fp.FetchOffset, fp.PartitionMaxBytes = int32(p), offset, l.partitionBytes
		fp.CurrentLeaderEpoch = -1
		t.Partitions = append(t.Partitions, fp)
	}
	req.Topics = append(req.Topics, t)
	return frame(req)
}
