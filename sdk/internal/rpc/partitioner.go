package rpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/partitioner"
)

// maxPartitions bounds the partitions of a topic that a question may tell of.
const maxPartitions = 1 << 20

// partitionerClient is a partitioner.Partitioner behind a connection.
type partitionerClient struct {
	c        *Client
	id       string
	services pluginpb.PartitionerClient
}

func newPartitioner(c *Client, id string) *partitionerClient {
	return &partitionerClient{c: c, id: id, services: pluginpb.NewPartitionerClient(c.conn)}
}

// Assign implements partitioner.Partitioner.
func (p *partitionerClient) Assign(ctx context.Context, r *partitioner.Request, out []int32) error {
	q, err := assignRequest(r)
	if err != nil {
		return err
	}
	q.Meta = p.c.meta(p.id)
	a, err := ask(ctx, callTimeout, p.services.Assign, q, grpc.MaxCallRecvMsgSize(maxPlacesBytes))
	if err != nil {
		return err
	}
	return assigned(r, a, out)
}

// assignRequest is a question as a message.
func assignRequest(r *partitioner.Request) (*pluginpb.AssignRequest, error) {
	if len(r.Keys) > partitioner.MaxKeys {
		return nil, tooLarge("%d keys: at most %d", len(r.Keys), partitioner.MaxKeys)
	}
	size := 0
	for _, key := range r.Keys {
		size += len(key)
	}
	if size > partitioner.MaxKeyBytes {
		return nil, tooLarge("%d bytes of keys: at most %d", size, partitioner.MaxKeyBytes)
	}
	q := &pluginpb.AssignRequest{
		Topic: sendable(r.Topic), Partitions: r.Partitions, MetadataEpoch: r.MetadataEpoch,
		Keys: make([]byte, 0, size), KeyLengths: make([]int32, len(r.Keys)),
		ValueSizes: r.ValueSizes, Available: r.Available, ClientId: sendable(r.ClientID),
	}
	if r.TopicID != [16]byte{} {
		q.TopicId = r.TopicID[:]
	}
	for i, key := range r.Keys {
		q.KeyLengths[i] = -1
		if key != nil {
			q.KeyLengths[i] = int32(len(key))
			q.Keys = append(q.Keys, key...)
		}
	}
	return q, nil
}

// assigned checks an answer and puts it into out.
func assigned(r *partitioner.Request, a *pluginpb.AssignResponse, out []int32) error {
	if len(a.Partitions) != len(r.Keys) || len(out) != len(r.Keys) {
		return badAnswer("%d partitions for %d keys", len(a.Partitions), len(r.Keys))
	}
	if a.MetadataEpoch != r.MetadataEpoch {
		return badAnswer("metadata epoch %d, asked with %d", a.MetadataEpoch, r.MetadataEpoch)
	}
	for i, n := range a.Partitions {
		inRange := n >= 0 && n < r.Partitions
		if !inRange && (n != partitioner.Any || len(r.Keys[i]) != 0) {
			return badAnswer("partition %d of %d for key %d", n, r.Partitions, i)
		}
	}
	copy(out, a.Partitions)
	return nil
}

// partitionerServer answers for instances of partitioners.
type partitionerServer struct {
	pluginpb.UnimplementedPartitionerServer
	s *Server
}

// Assign implements pluginpb.PartitionerServer.
func (p *partitionerServer) Assign(ctx context.Context, q *pluginpb.AssignRequest) (*pluginpb.AssignResponse, error) {
	a := &pluginpb.AssignResponse{MetadataEpoch: q.GetMetadataEpoch()}
	err := with(p.s, q.GetMeta(), func(contract partitioner.Partitioner) error {
		r, err := partitionerRequest(q)
		if err != nil {
			return err
		}
		a.Partitions = make([]int32, len(r.Keys))
		return contract.Assign(ctx, r, a.Partitions)
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// partitionerRequest checks a message and makes a question of it. The keys share its
// bytes.
func partitionerRequest(q *pluginpb.AssignRequest) (*partitioner.Request, error) {
	n := len(q.GetKeyLengths())
	switch {
	case n > partitioner.MaxKeys || len(q.GetKeys()) > partitioner.MaxKeyBytes:
		return nil, badQuestion("%d keys of %d bytes", n, len(q.GetKeys()))
	case q.GetPartitions() < 1 || q.GetPartitions() > maxPartitions:
		return nil, badQuestion("%d partitions", q.GetPartitions())
	case len(q.GetValueSizes()) != 0 && len(q.GetValueSizes()) != n:
		return nil, badQuestion("%d sizes of values for %d keys", len(q.GetValueSizes()), n)
	case len(q.GetTopicId()) != 0 && len(q.GetTopicId()) != 16:
		return nil, badQuestion("topic id of %d bytes", len(q.GetTopicId()))
	}
	r := &partitioner.Request{
		Topic: q.GetTopic(), Partitions: q.GetPartitions(), MetadataEpoch: q.GetMetadataEpoch(),
		Keys: make([][]byte, n), ValueSizes: q.GetValueSizes(), Available: q.GetAvailable(), ClientID: q.GetClientId(),
	}
	copy(r.TopicID[:], q.GetTopicId())
	rest := q.GetKeys()
	for i, length := range q.GetKeyLengths() {
		switch {
		case length == -1:
		case length < 0 || int(length) > len(rest):
			return nil, badQuestion("key %d of %d bytes where %d are left", i, length, len(rest))
		default:
			r.Keys[i] = rest[:length:length]
			if r.Keys[i] == nil {
				r.Keys[i] = []byte{} // empty is not null
			}
			rest = rest[length:]
		}
	}
	if len(rest) != 0 {
		return nil, badQuestion("%d bytes belong to no key", len(rest))
	}
	return r, nil
}

var _ partitioner.Partitioner = (*partitionerClient)(nil)
