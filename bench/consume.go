package main

import (
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumeLoad reads all of a topic, each reader everything, from the page cache.
type consumeLoad struct {
	topic          string
	partitions     int
	readers        int
	partitionBytes int32 // max bytes of a partition in one fetch
	rounds         int   // how often each reader reads everything
}

func (l consumeLoad) run(addr string) (result, error) {
	results := make([]result, l.readers)
	errs := make([]error, l.readers)
	start := time.Now()
	var wg sync.WaitGroup
	for i := range l.readers {
		wg.Go(func() { results[i], errs[i] = l.read(addr) })
	}
	wg.Wait()
	sum := result{elapsed: time.Since(start)}
	for _, r := range results {
		sum.bytes += r.bytes
		sum.requests += r.requests
	}
	return sum, errors.Join(errs...)
}

// read reads everything, rounds times, on one connection.
func (l consumeLoad) read(addr string) (result, error) {
	c, err := dial(addr)
	if err != nil {
		return result{}, err
	}
	defer c.close()
	r := result{}
	for range l.rounds {
		next := make([]int64, l.partitions)
		for {
			if _, err := c.Write(l.fetch(next, 0)); err != nil {
				return r, err
			}
			n, err := walkFetch(c.in, l.topic, next, func([]byte) {})
			if err != nil {
				return r, err
			}
			r.requests++
			if n == 0 {
				break
			}
			r.bytes += n
		}
	}
	return r, nil
}

// fetch builds a Fetch v11 request, without a session, that waits for the first
// byte for so long.
func (l consumeLoad) fetch(next []int64, waitMS int32) []byte {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 11, waitMS, 1, 50<<20
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
