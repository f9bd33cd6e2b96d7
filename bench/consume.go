package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mortisemq/mortise/core/record"
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
	var buf []byte
	for range l.rounds {
		next := make([]int64, l.partitions)
		for {
			f := l.fetch(next, 0, 1)
			if _, err := c.Write(f); err != nil {
				return r, err
			}
			if buf, err = c.read(buf); err != nil {
				return r, err
			}
			n, err := l.walk(buf, next)
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

// walk goes through a Fetch v11 answer from batch to batch, moves next, and
// returns how many bytes of batches there were.
func (l consumeLoad) walk(answer []byte, next []int64) (int64, error) {
	return l.walkEach(answer, next, func(record.Batch) {})
}

// walkEach is walk that shows each batch.
func (l consumeLoad) walkEach(answer []byte, next []int64, each func(record.Batch)) (int64, error) {
	at := 4 + 4
	if code := int16(binary.BigEndian.Uint16(answer[at:])); code != 0 {
		return 0, fmt.Errorf("fetch: error %d", code)
	}
	at += 2 + 4 + 4 + 2 + len(l.topic) // error, session, topics, name
	count := int(binary.BigEndian.Uint32(answer[at:]))
	at += 4
	total := int64(0)
	for range count {
		p := binary.BigEndian.Uint32(answer[at:])
		if code := int16(binary.BigEndian.Uint16(answer[at+4:])); code != 0 {
			return 0, fmt.Errorf("fetch of partition %d: error %d", p, code)
		}
		at += 4 + 2 + 8 + 8 + 8
		if aborted := int32(binary.BigEndian.Uint32(answer[at:])); aborted > 0 {
			return 0, errors.New("aborted transactions in a plain topic")
		}
		at += 4 + 4
		n := int(max(0, int32(binary.BigEndian.Uint32(answer[at:]))))
		at += 4
		used := l.batches(answer[at:at+n], next, int(p), each)
		total += int64(used)
		at += n
	}
	return total, nil
}

// batches walks whole batches; a torn last one is read again.
func (l consumeLoad) batches(b []byte, next []int64, p int, each func(record.Batch)) int {
	used := 0
	for {
		one, rest, err := record.Next(b)
		if err != nil {
			return used
		}
		next[p] = int64(one.LastOffset()) + 1
		used += len(one)
		each(one)
		b = rest
	}
}
