package partitioner

import (
	"context"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// Any answers for a null or an empty key: the asker chooses.
const Any int32 = -1

// FeatureDeterministic says that obligation 2 is kept.
const FeatureDeterministic = "deterministic"

// The largest question: a broker asks for no more keys, and for no more bytes of
// keys, at once.
const (
	MaxKeys     = 4096
	MaxKeyBytes = 1 << 20
)

// Request asks for the partitions of some keys of one topic.
type Request struct {
	Topic         string
	TopicID       [16]byte // zero: not known
	Partitions    int32    // how many the topic has, at least 1
	MetadataEpoch uint64   // of the picture of the cluster that this is asked with
	Keys          [][]byte // nil: a null key
	ValueSizes    []int32  // bytes of each record's value, -1 for null; nil: not known
	Available     []int32  // partitions with a leader now; nil: all
	ClientID      string
}

// Partitioner chooses partitions. See the package's obligations.
type Partitioner interface {
	// Assign answers for Keys[i] in out[i]; len(out) is len(Keys). On an error out
	// means nothing.
	Assign(ctx context.Context, r *Request, out []int32) error
}

// Func is a Partitioner that answers key by key.
type Func func(topic string, key []byte, partitions int32) int32

// Assign implements Partitioner.
func (f Func) Assign(_ context.Context, r *Request, out []int32) error {
	for i, key := range r.Keys {
		out[i] = f(r.Topic, key, r.Partitions)
	}
	return nil
}

// Plugin makes a plugin of p, whose New is replaced by make.
func Plugin(p plugin.Plugin, make func(context.Context, plugin.Config) (Partitioner, error)) plugin.Plugin {
	p.Kind, p.New = plugin.Partitioner, plugin.Typed(make)
	return p
}
