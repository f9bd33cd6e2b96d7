package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/wire"
)

// BenchmarkProduce is one request of one partition, decode to reply, with the
// write to the page cache and without a socket.
func BenchmarkProduce(b *testing.B) {
	for _, size := range []struct {
		name    string
		records int
	}{{"1", 1}, {"1000", 1000}} {
		b.Run(size.name, func(b *testing.B) {
			d := newDataRig(b, map[string]int{"t": 1}, nil)
			first := produceOf(1, "t", records(size.records)).AppendTo(nil)
			body := append([]byte(nil), first...)
			conn, sink, r, pool := &wire.ConnInfo{Listener: "TEST"}, new(nullSink), new(wire.Request), new(wire.Responses)
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				copy(body, first)
				r.Init(wire.Header{Key: 0, Version: 9}, body, conn, d.clock.Now(), sink, pool)
				d.a.produce(r)
			}
		})
	}
}

// BenchmarkProduceToParkedFetch is the time from a produce request to the answer
// of a fetch that waits for it: one goroutine is woken, no timer is involved.
func BenchmarkProduceToParkedFetch(b *testing.B) {
	d := newDataRig(b, map[string]int{"t": 1}, nil)
	first := produceOf(1, "t", records(1)).AppendTo(nil)
	conn, sink, r, pool := &wire.ConnInfo{Listener: "TEST"}, new(nullSink), new(wire.Request), new(wire.Responses)
	m := fetchOf("t", 1)
	m.MinBytes, m.MaxWaitMillis = 1, 10_000
	offset := int64(0)
	for b.Loop() {
		b.StopTimer()
		m.Topics[0].Partitions[0].FetchOffset = offset
		fetch, rec := wire.Record(m, "client")
		d.a.fetch(fetch)
		body := append([]byte(nil), first...)
		r.Init(wire.Header{Key: 0, Version: 9}, body, conn, d.clock.Now(), sink, pool)
		b.StartTimer()
		d.a.produce(r)
		<-rec.Done()
		offset++
	}
}

// BenchmarkFollowerPoll is a follower's fetch of a session of 1000 partitions of which
// one has a record: what the others cost.
func BenchmarkFollowerPoll(b *testing.B) {
	const partitions = 1000
	d := newDataRig(b, map[string]int{"t": partitions}, nil)
	d.replicate("t")
	d.mustProduce("t", 1)
	m := d.followOf("t", partitions, 0)
	m.SessionEpoch = 0
	first := call[*kmsg.FetchResponse](d, d.a.fetch, m)
	m.SessionID, m.Topics = first.SessionID, nil
	conn, sink, r, pool := &wire.ConnInfo{Listener: "TEST"}, new(nullSink), new(wire.Request), new(wire.Responses)
	for b.Loop() {
		m.SessionEpoch++
		r.Init(wire.Header{Key: 1, Version: wire.FollowerVersion}, m.AppendTo(nil), conn, d.clock.Now(), sink, pool)
		d.a.fetch(r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/partitions, "ns/partition")
}
