package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/record"
)

// produceLoad is a raw produce workload.
type produceLoad struct {
	topic       string
	partitions  int
	perRequest  int // partitions in one request
	records     int // in one batch
	recordBytes int
	keys        bool // records have keys of 16 bytes
	connections int
	inFlight    int
	acksAll     bool  // acknowledged by all replicas in sync, not by the leader alone
	totalBytes  int64 // of batches, over all connections
}

// result is what one workload showed.
type result struct {
	bytes    int64
	requests int64
	elapsed  time.Duration
	latency  latencies
	cpu      time.Duration
	anonKiB  int64
}

// cpuEach is the broker's CPU time for one request.
func (r result) cpuEach() time.Duration { return r.cpu / time.Duration(max(1, r.requests)) }

// batch builds a batch of equal records whose values do not compress away.
func batch(records, size int) []byte { return batchWith(records, size, false) }

// batchWith is batch, whose records may have different keys.
func batchWith(records, size int, keys bool) []byte {
	b := record.NewBuilder(record.BuilderOptions{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1})
	value := make([]byte, size)
	for i := range value {
		value[i] = byte(i*131 + i>>8)
	}
	now := time.Now().UnixMilli()
	for n := range records {
		var key []byte
		if keys {
			key = fmt.Appendf(nil, "key-%012d", n)
		}
		b.Append(now, key, value, nil)
	}
	return b.Bytes()
}

// request builds the frame of a Produce v9 request for some partitions.
func (l produceLoad) request(first int, batch []byte) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, 1, 30_000
	if l.acksAll {
		req.Acks = -1
	}
	t := kmsg.NewProduceRequestTopic()
	t.Topic = l.topic
	for i := range l.perRequest {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32((first+i)%l.partitions), batch
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return frame(req)
}

// frames are the requests that together name each partition once.
func (l produceLoad) frames(b []byte) [][]byte {
	var frames [][]byte
	for first := 0; first < l.partitions; first += l.perRequest {
		frames = append(frames, l.request(first, b))
	}
	return frames
}

// run produces until totalBytes are acknowledged.
func (l produceLoad) run(addr string) (result, error) {
	b := batchWith(l.records, l.recordBytes, l.keys)
	frames := l.frames(b)
	perRequest := int64(len(b) * l.perRequest)
	perConn := int(l.totalBytes / perRequest / int64(l.connections))
	results := make([]result, l.connections)
	errs := make([]error, l.connections)
	start := time.Now()
	var wg sync.WaitGroup
	for i := range l.connections {
		wg.Go(func() { results[i], errs[i] = l.pipeline(addr, frames, i, perConn) })
	}
	wg.Wait()
	sum := result{elapsed: time.Since(start)}
	for _, r := range results {
		sum.requests += r.requests
		sum.latency = append(sum.latency, r.latency...)
	}
	sum.bytes = sum.requests * perRequest
	return sum, errors.Join(errs...)
}

// pipeline keeps inFlight requests on one connection.
func (l produceLoad) pipeline(addr string, frames [][]byte, offset, count int) (result, error) {
	c, err := dial(addr)
	if err != nil {
		return result{}, err
	}
	defer c.close()
	own := make([][]byte, len(frames)) // the correlation id is written into them
	for i, f := range frames {
		own[i] = append([]byte(nil), f...)
	}
	sent := make(chan time.Time, l.inFlight)
	failed := make(chan error, 1)
	go func() {
		defer close(sent)
		for i := range count {
			f := own[(offset+i)%len(own)]
			binary.BigEndian.PutUint32(f[8:], uint32(i))
			sent <- time.Now() // waits while inFlight are out
			if _, err := c.Write(f); err != nil {
				failed <- err
				return
			}
		}
	}()
	r := result{latency: make(latencies, 0, count)}
	var buf []byte
	for i := range count {
		buf, err = c.read(buf)
		if err == nil {
			err = l.check(buf, uint32(i))
		}
		if err != nil {
			select {
			case first := <-failed:
				err = errors.Join(first, err)
			default:
			}
			return r, err
		}
		r.latency = append(r.latency, time.Since(<-sent))
		r.requests++
	}
	return r, nil
}

// check reads the correlation id and the first partition's error code where
// Produce v9 has them.
func (l produceLoad) check(answer []byte, correlation uint32) error {
	at := 4 + 1 + 1 + 1 + len(l.topic) + 1 + 4
	if len(answer) < at+2 {
		return fmt.Errorf("a produce answer of %d bytes", len(answer))
	}
	if got := binary.BigEndian.Uint32(answer); got != correlation {
		return fmt.Errorf("answer %d came in the place of %d", got, correlation)
	}
	if code := int16(binary.BigEndian.Uint16(answer[at:])); code != 0 {
		return fmt.Errorf("produce: error %d", code)
	}
	return nil
}
