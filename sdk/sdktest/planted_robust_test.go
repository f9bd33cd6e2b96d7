package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// failing plants an error.
func failing(when func(q question) error) plugin.Plugin {
	a := goodPartitioner()
	a.fails = when
	return a.plugin()
}

func robustFaults(t *testing.T) []fault {
	done := make(chan struct{}) // ends what hangs
	t.Cleanup(func() { close(done) })
	var running atomic.Int64
	leaked := make(chan []byte, 1<<20)
	return []fault{
		{name: "panics-without-keys", finds: "robust/empty", says: "panicked", plugin: planting(func(q question) { _ = q.r.Keys[0] })},
		{name: "panics-over-grpc", way: WayInProcess, finds: "robust/empty", says: "panicked", plugin: planting(func(q question) { _ = q.r.Keys[0] })},
		{name: "takes-few-keys", finds: "robust/largest", says: "too many", plugin: failing(func(q question) error {
			if len(q.r.Keys) > 1000 {
				return errors.New("too many")
			}
			return nil
		})},
		{name: "panics-over-an-empty-key", finds: "robust/odd", says: "index out of range", plugin: planting(func(q question) {
			for _, key := range q.r.Keys {
				if key != nil {
					_ = key[0]
				}
			}
		})},
		{name: "hangs", late: lateReturn, finds: "robust/deadline", says: "has not returned", plugin: planting(func(q question) {
			if soon(q.ctx) {
				<-done
			}
		})},
		{name: "hangs-over-grpc", late: lateClose, way: WayInProcess, finds: "robust/deadline", plugin: planting(func(q question) {
			if soon(q.ctx) {
				<-done
			}
		})},
		{name: "an-error-of-its-own", finds: "robust/cancel", says: "interrupted", plugin: failing(func(q question) error {
			if q.ctx.Err() != nil {
				return errors.New("interrupted")
			}
			return nil
		})},
		{name: "leaves-goroutines", late: lateClose, finds: "robust/deadline", says: "goroutines", plugin: planting(func(q question) {
			go func() { <-done }()
		})},
		{name: "not-for-many", finds: "robust/parallel", says: "one of many", plugin: planting(func(q question) {
			if running.Add(1) > 1 && len(q.out) > 0 {
				q.out[0] = (q.out[0] + 1) % q.r.Partitions
			}
			runtime.Gosched() // to another of them
			running.Add(-1)
		})},
		{name: "grows", finds: "robust/memory", says: "KiB", plugin: planting(func(question) { leaked <- make([]byte, 16<<10) })},
	}
}

func baseFaults(t *testing.T) []fault {
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	changed := func(change func(*plugin.Plugin)) plugin.Plugin {
		p := goodPartitioner().plugin()
		change(&p)
		return p
	}
	leaves := goodPartitioner()
	leaves.start = func(context.Context, plugin.Config) { go func() { <-done }() }
	stays := goodPartitioner()
	stays.close = func() error { <-done; return nil }
	fails := goodPartitioner()
	fails.close = func() error { return errors.New("twice") }
	return []fault{
		{name: "long-schema", finds: "base/describe", says: "65536 bytes", plugin: changed(func(p *plugin.Plugin) {
			p.Schema = json.RawMessage(fmt.Sprintf(`{"title":"%0*d"}`, maxDescription, 0))
		})},
		{name: "version-with-v", finds: "base/describe", says: "without a v", plugin: changed(func(p *plugin.Plugin) { p.Version = "v1.0.0" })},
		{name: "summary-of-lines", finds: "base/describe", says: "one line", plugin: changed(func(p *plugin.Plugin) { p.Summary = "a\nb" })},
		{name: "refuses-its-config", finds: "base/config", says: "validate", plugin: changed(func(p *plugin.Plugin) {
			p.Validate = func(json.RawMessage) error { return errors.New("no") }
		})},
		{name: "takes-any-key", finds: "base/unknown-key", says: "took it", plugin: changed(func(p *plugin.Plugin) {
			p.Validate = func(config json.RawMessage) error { return json.Unmarshal(config, &struct{}{}) }
		})},
		{name: "takes-no-object", finds: "base/no-object", says: "took it", plugin: changed(func(p *plugin.Plugin) {
			p.Validate = func(config json.RawMessage) error { return json.Unmarshal(config, new(any)) }
		})},
		{name: "instances-differ", finds: "base/twice", says: "the other", plugin: instances(func(n int32) int32 { return n })},
		{name: "instances-share", finds: "base/isolated", says: "came and went", plugin: shared()},
		{name: "never-closes", late: lateReturn, finds: "base/drain", says: "has not returned", plugin: stays.plugin()},
		{name: "never-closes-over-grpc", late: lateReturn, way: WayInProcess, finds: "base/drain", says: "drain", plugin: stays.plugin()},
		{name: "close-fails", finds: "base/drain", says: "twice", plugin: fails.plugin()},
		{name: "leaves-goroutines-of-instances", late: lateClose, finds: "base/leaks", says: "goroutines", plugin: leaves.plugin()},
		{name: "metrics-of-bytes", finds: "base/metrics", says: "UTF-8", plugin: metered("m \xff\n")},
		{name: "metrics-without-end", finds: "base/metrics", says: "no end", plugin: metered("m 1")},
	}
}

// instances adds something to the answers of each instance by its number.
func instances(add func(n int32) int32) plugin.Plugin {
	var made atomic.Int32
	p := goodPartitioner().plugin()
	p.New = plugin.Typed(func(context.Context, plugin.Config) (partitioner.Partitioner, error) {
		n := made.Add(1)
		return partitioner.Func(func(_ string, key []byte, partitions int32) int32 {
			return (hashed(key, partitions) + add(n)) % partitions
		}), nil
	})
	return p
}

// shared answers by how many instances there have been.
func shared() plugin.Plugin {
	var made atomic.Int32
	p := goodPartitioner().plugin()
	p.New = plugin.Typed(func(context.Context, plugin.Config) (partitioner.Partitioner, error) {
		made.Add(1)
		return partitioner.Func(func(_ string, key []byte, partitions int32) int32 {
			return (hashed(key, partitions) + made.Load()) % partitions
		}), nil
	})
	return p
}

// withMetrics is a partitioner with metrics.
type withMetrics struct {
	*aPartitioner
	text string
}

func (m withMetrics) Metrics(context.Context) ([]byte, error) { return []byte(m.text), nil }

func metered(text string) plugin.Plugin {
	p := goodPartitioner().plugin()
	p.New = func(context.Context, plugin.Config) (any, error) { return withMetrics{goodPartitioner(), text}, nil }
	return p
}

var _ io.Closer = (*aPartitioner)(nil)
