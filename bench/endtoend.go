package main

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

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
	acksAll    bool
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
	frames := produceLoad{topic: l.topic, partitions: l.partitions, perRequest: 1, acksAll: l.acksAll}.frames(b)
	gap := time.Duration(float64(time.Second) * float64(l.batchBytes) / float64(l.rateBytes))
	start := time.Now()
	for i := range count {
		time.Sleep(time.Until(start.Add(time.Duration(i) * gap)))
		f := frames[i%len(frames)]
		stamp(f[len(f)-tagsBytes-len(b):len(f)-tagsBytes], time.Now())
		if _, err := c.Write(f); err != nil {
			return err
		}
	}
	return nil
}

// tagsBytes end a Produce v9 request behind the records: three empty lists of
// tagged fields.
const tagsBytes = 3

// stamp writes the time into a batch and makes its checksum good.
func stamp(b []byte, at time.Time) {
	binary.BigEndian.PutUint64(b[stampOffset:], uint64(at.UnixNano()))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
}

// drain reads the answers of the produce requests.
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
	r := result{latency: make(latencies, 0, count)}
	next := make([]int64, l.partitions)
	load := consumeLoad{topic: l.topic, partitions: l.partitions, partitionBytes: 1 << 20}
	for int(r.requests) < count {
		if _, err := c.Write(load.fetch(next, 500)); err != nil {
			return r, err
		}
		n, err := walkFetch(c.in, l.topic, next, func(head []byte) {
			sent := time.Unix(0, int64(binary.BigEndian.Uint64(head[stampOffset:])))
			r.latency = append(r.latency, time.Since(sent))
			r.requests++
		})
		if err != nil {
			return r, err
		}
		r.bytes += n
	}
	return r, nil
}
