package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
)

// image is an image with dynamic values, written as "type/name key=value …".
func image(index uint64, resources ...string) *meta.Image {
	e := meta.Empty("c").Edit(index)
	for _, text := range resources {
		fields := strings.Fields(text)
		kind, name, _ := strings.Cut(fields[0], "/")
		r := meta.Resource{Type: meta.ResourceTopic, Name: name}
		if kind == "broker" {
			r.Type = meta.ResourceBroker
		}
		values := map[string]string{}
		for _, pair := range fields[1:] {
			key, value, _ := strings.Cut(pair, "=")
			values[key] = value
		}
		e.SetConfig(r, values)
	}
	return e.Image()
}

// TestPrecedence goes through the sources of retention.ms from the lowest up.
func TestPrecedence(t *testing.T) {
	r := NewResolver(nil).For(1)
	check := func(r *Resolver, img *meta.Image, want int64, why string) {
		t.Helper()
		if got := r.Topic(img, "a").RetentionMS; got != want {
			t.Errorf("%s: retention.ms is %d, want %d", why, got, want)
		}
	}
	check(r, image(1), 604800000, "nothing set")
	file := NewResolver(Static{"log.retention.hours": "2"}).For(1)
	check(file, image(1), 2*60*60*1000, "hours in the file")
	check(NewResolver(Static{"log.retention.hours": "2", "log.retention.minutes": "3"}).For(1), image(1), 3*60*1000, "minutes beat hours")
	check(file, image(2, "broker/ log.retention.ms=50"), 50, "cluster-wide beats the file")
	check(file, image(3, "broker/ log.retention.ms=50", "broker/1 log.retention.ms=40"), 40, "this broker beats cluster-wide")
	check(file, image(4, "broker/2 log.retention.ms=40"), 2*60*60*1000, "another broker's counts for nothing")
	check(file, image(5, "broker/1 log.retention.ms=40", "topic/a retention.ms=30"), 30, "the topic's own beats all")
	check(file, image(6, "broker/1 log.retention.ms=40", "topic/b retention.ms=30"), 40, "another topic's counts for nothing")
	check(r, image(7, "topic/a retention.ms=-1"), -1, "no limit")
	check(NewResolver(Static{"log.retention.hours": "-1"}).For(1), image(1), -1, "no limit in hours")
}

// TestStoredNonsenseBreaksNothing: a value that today's check refuses is as good
// as none.
func TestStoredNonsenseBreaksNothing(t *testing.T) {
	r := NewResolver(Static{"log.segment.bytes": "2000000"}).For(1)
	img := image(1, "topic/a segment.bytes=12 retention.ms=5 gone.with.an.old.version=1", "broker/1 log.segment.bytes=x")
	if got := r.Topic(img, "a"); got.SegmentBytes != 2000000 || got.RetentionMS != 5 {
		t.Errorf("segment.bytes %d, retention.ms %d: want 2000000 from the file and 5", got.SegmentBytes, got.RetentionMS)
	}
}

func TestTypedTopic(t *testing.T) {
	r := NewResolver(nil)
	img := image(1, "topic/a cleanup.policy=compact,delete compression.type=zstd compression.zstd.level=7 "+
		"message.timestamp.type=LogAppendTime min.insync.replicas=2 preallocate=true internal.segment.bytes=100 min.cleanable.dirty.ratio=0.25")
	got := r.Topic(img, "a")
	if !got.CleanupCompact || !got.CleanupDelete || got.Compression != record.CompressZstd || got.CompressionLevel() != 7 ||
		got.TimestampType != record.LogAppendTime || got.MinInsyncReplicas != 2 || !got.Preallocate || got.SegmentBytes != 100 ||
		got.MinCleanableDirtyRatio != 0.25 {
		t.Errorf("got %+v", got)
	}
	other := r.Topic(img, "b")
	if other.CleanupCompact || !other.CleanupDelete || other.Compression != record.CompressProducer || other.SegmentBytes != 1<<30 {
		t.Errorf("defaults: got %+v", other)
	}
}

func TestTypedBroker(t *testing.T) {
	r := NewResolver(Static{"num.partitions": "3", "max.connections.per.ip.overrides": "10.0.0.1:2, [fe80::1]:3"}).For(1)
	got := r.Broker(image(1, "broker/1 max.connections=9"), 1)
	if got.NumPartitions != 3 || !got.AutoCreateTopics || got.MaxConnections != 9 || got.FetchMaxBytes != 55<<20 || got.MaxPartitionsPerNode != -1 {
		t.Errorf("got %+v", got)
	}
	want := map[netip.Addr]int{netip.MustParseAddr("10.0.0.1"): 2, netip.MustParseAddr("fe80::1"): 3}
	if fmt.Sprint(got.MaxConnectionsPerIPOverrides) != fmt.Sprint(want) {
		t.Errorf("overrides %v, want %v", got.MaxConnectionsPerIPOverrides, want)
	}
	if other := r.Broker(image(1, "broker/2 max.connections=4"), 2); other.MaxConnections != 4 {
		t.Errorf("another broker's max.connections is %d, want 4", other.MaxConnections)
	}
}

// TestFsyncFlushesEveryMessage: durability is a default, which a topic can change.
func TestFsyncFlushesEveryMessage(t *testing.T) {
	r := NewResolver(Static{DurabilityKey: DurabilityFsync}).For(1)
	img := image(1, "topic/slow flush.messages=100")
	if got := r.Topic(img, "a").FlushMessages; got != 1 {
		t.Errorf("flush.messages is %d, want 1", got)
	}
	if got := r.Topic(img, "slow").FlushMessages; got != 100 {
		t.Errorf("flush.messages of a topic that has its own is %d, want 100", got)
	}
	set := NewResolver(Static{DurabilityKey: DurabilityFsync, "log.flush.interval.messages": "9"})
	if got := set.Topic(img, "a").FlushMessages; got != 9 {
		t.Errorf("flush.messages is %d, want the file's 9", got)
	}
}

// TestTopicsShareASnapshot is what 100,000 topics without own values rely on.
func TestTopicsShareASnapshot(t *testing.T) {
	r := NewResolver(nil).For(kafka.BrokerID(1000))
	img := image(1, "topic/own retention.ms=1", "broker/ log.retention.bytes=5")
	a, b := r.Topic(img, "a"), r.Topic(img, "b")
	if a != b {
		t.Error("two topics without own values have two snapshots")
	}
	later := img.Edit(2).Image()
	if r.Topic(later, "a") != a || r.Broker(later, 1000) != r.Broker(img, 1000) {
		t.Error("an image with the same configs gives another snapshot")
	}
	if r.Topic(image(3, "broker/ log.retention.bytes=6"), "a") == a {
		t.Error("a changed config gives the old snapshot")
	}
	r.Topic(later, "a")
	if n := testing.AllocsPerRun(100, func() { r.Broker(later, 1000); r.Topic(later, "a") }); n != 0 {
		t.Errorf("%v allocs to look a config up, want 0", n)
	}
}

func TestSetStatic(t *testing.T) {
	r := NewResolver(Static{"queued.max.request.bytes": "1000000"}).For(1)
	img := image(1)
	before := r.Broker(img, 1)
	pending := r.SetStatic(Static{"queued.max.request.bytes": "2000000", "num.partitions": "4", DurabilityKey: DurabilityFsync})
	if want := []string{DurabilityKey, "queued.max.request.bytes"}; !slices.Equal(pending, want) {
		t.Errorf("pending %q, want %q", pending, want)
	}
	now := r.Broker(img, 1)
	if now.NumPartitions != 4 || now.QueuedMaxRequestBytes != 1000000 || now.Fsync {
		t.Errorf("after the reload: %+v", now)
	}
	if before.NumPartitions != 1 {
		t.Error("a snapshot that somebody holds has changed")
	}
}

func TestCheckTopicWithTheBrokersDefaults(t *testing.T) {
	r := NewResolver(Static{"log.cleaner.max.compaction.lag.ms": "100"}).For(1)
	err := r.CheckTopic(image(1), map[string]string{"min.compaction.lag.ms": "200"})
	want := "conflict topic config setting min.compaction.lag.ms (200) > max.compaction.lag.ms (100)"
	if text(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestCONF04 reloads in a loop while others read: every snapshot is of one file.
func TestCONF04(t *testing.T) {
	files := [2]Static{
		{"num.partitions": "1", "fetch.max.bytes": "10000"},
		{"num.partitions": "2", "fetch.max.bytes": "20000"},
	}
	r := NewResolver(files[0]).For(1)
	img := image(1)
	var readers, writers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if b := r.Broker(img, 1); int64(b.NumPartitions)*10000 != b.FetchMaxBytes {
					t.Errorf("num.partitions %d of one file, fetch.max.bytes %d of another", b.NumPartitions, b.FetchMaxBytes)
					return
				}
			}
		})
	}
	for w := range 2 {
		writers.Go(func() {
			for n := range 200 {
				r.SetStatic(files[(n+w)%2])
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}
