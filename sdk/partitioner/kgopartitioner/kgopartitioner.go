package kgopartitioner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/sdk/partitioner"
)

// ErrBadAnswer is the Err of a record for which the plugin broke its contract.
var ErrBadAnswer = errors.New("the partitioner named a partition that there is not")

// Options change a Partitioner. The zero value is ready.
type Options struct {
	// Deterministic says that the plugin has partitioner.FeatureDeterministic, so that
	// its answers may be remembered.
	Deterministic bool
	// Timeout bounds a question; 0: 50 ms.
	Timeout time.Duration
	// Remember is how many keys of each topic are remembered; 0: 100,000.
	Remember int
}

// Partitioner is a kgo.Partitioner by a plugin. It is safe for concurrent use, and
// one may serve several clients.
type Partitioner struct {
	plugin partitioner.Partitioner
	opt    Options
	sticky kgo.Partitioner // for what may go anywhere

	mu     sync.Mutex
	topics map[string]*memory // guarded by mu
}

// New makes a Partitioner.
func New(p partitioner.Partitioner, o Options) *Partitioner {
	if o.Timeout <= 0 {
		o.Timeout = 50 * time.Millisecond
	}
	if o.Remember <= 0 {
		o.Remember = 100_000
	}
	return &Partitioner{plugin: p, opt: o, sticky: kgo.StickyPartitioner(), topics: map[string]*memory{}}
}

// ForTopic implements kgo.Partitioner.
func (p *Partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	return &topicPartitioner{
		p: p, topic: topic, memory: p.memoryOf(topic), sticky: p.sticky.ForTopic(topic),
		keys: make([][]byte, 1), sizes: make([]int32, 1), out: make([]int32, 1),
	}
}

// Learn asks about keys of a topic, in as few questions as the contract allows, so that
// producing them needs none. Null keys are skipped. Without Deterministic it does
// nothing. The error is that of the first question that failed.
func (p *Partitioner) Learn(ctx context.Context, topic string, partitions int32, keys [][]byte) error {
	if !p.opt.Deterministic {
		return nil
	}
	m := p.memoryOf(topic)
	for len(keys) > 0 {
		n, bytes := 0, 0
		for n < len(keys) && n < partitioner.MaxKeys && (n == 0 || bytes+len(keys[n]) <= partitioner.MaxKeyBytes) {
			bytes += len(keys[n])
			n++
		}
		some := slices.DeleteFunc(slices.Clone(keys[:n]), func(key []byte) bool { return key == nil })
		out := make([]int32, len(some))
		if err := p.ask(ctx, &partitioner.Request{Topic: topic, Partitions: partitions, Keys: some}, out); err != nil {
			return err
		}
		for i, key := range some {
			m.put(key, partitions, out[i], p.opt.Remember)
		}
		keys = keys[n:]
	}
	return nil
}

// ask asks the plugin and checks its answers.
func (p *Partitioner) ask(ctx context.Context, r *partitioner.Request, out []int32) error {
	ctx, stop := context.WithTimeout(ctx, p.opt.Timeout)
	defer stop()
	if err := p.plugin.Assign(ctx, r, out); err != nil {
		return fmt.Errorf("partition of a record of topic %s: %w", r.Topic, err)
	}
	for i, at := range out {
		if at == partitioner.Any && len(r.Keys[i]) == 0 {
			continue
		}
		if at < 0 || at >= r.Partitions {
			return fmt.Errorf("partition %d of %d, topic %s: %w", at, r.Partitions, r.Topic, ErrBadAnswer)
		}
	}
	return nil
}

func (p *Partitioner) memoryOf(topic string) *memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.topics[topic]
	if m == nil {
		m = &memory{}
		p.topics[topic] = m
	}
	return m
}

var _ kgo.Partitioner = (*Partitioner)(nil)
