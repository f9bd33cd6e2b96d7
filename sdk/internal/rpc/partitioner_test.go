package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestPartitionerSeesTheQuestion sends every field, with null and empty keys.
func TestPartitionerSeesTheQuestion(t *testing.T) {
	want := partitioner.Request{
		Topic: "töpic", TopicID: [16]byte{1, 15: 2}, Partitions: 9, MetadataEpoch: 1 << 60,
		Keys:       [][]byte{nil, {}, []byte("key"), {0xff, 0}, {}},
		ValueSizes: []int32{1, -1, 0, 1 << 30, 5}, Available: []int32{0, 8}, ClientID: "me",
	}
	p := instances(&instance{assign: func(_ context.Context, r *partitioner.Request, out []int32) error {
		if !reflect.DeepEqual(*r, want) {
			return fmt.Errorf("got %+v", *r)
		}
		copy(out, []int32{partitioner.Any, partitioner.Any, 3, 8, 0})
		return nil
	}})
	c, _, _ := serve(t, p)
	out := make([]int32, 5)
	if err := configure[partitioner.Partitioner](t, c, p, "1").Assign(t.Context(), &want, out); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(out, []int32{-1, -1, 3, 8, 0}) {
		t.Errorf("partitions %v", out)
	}
}

func TestPartitionerQuestionTooLarge(t *testing.T) {
	p := instances(&instance{})
	c, _, _ := serve(t, p)
	contract := configure[partitioner.Partitioner](t, c, p, "1")
	for name, keys := range map[string][][]byte{
		"keys":  make([][]byte, partitioner.MaxKeys+1),
		"bytes": {make([]byte, partitioner.MaxKeyBytes), {1}},
	} {
		r := &partitioner.Request{Partitions: 1, Keys: keys}
		if err := contract.Assign(t.Context(), r, make([]int32, len(keys))); !errors.Is(err, plugin.ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
	}
	most := make([][]byte, partitioner.MaxKeys)
	for i := range most {
		most[i] = make([]byte, partitioner.MaxKeyBytes/partitioner.MaxKeys)
	}
	if err := contract.Assign(t.Context(), &partitioner.Request{Partitions: 1, Keys: most}, make([]int32, len(most))); err != nil {
		t.Errorf("the largest question: %v", err)
	}
}

func TestBadPartitions(t *testing.T) {
	r := &partitioner.Request{Partitions: 3, MetadataEpoch: 7, Keys: [][]byte{nil, []byte("k"), {}}}
	for name, a := range map[string]*pluginpb.AssignResponse{
		"nothing":     {},
		"too few":     {Partitions: []int32{0, 0}, MetadataEpoch: 7},
		"too many":    {Partitions: []int32{0, 0, 0, 0}, MetadataEpoch: 7},
		"no epoch":    {Partitions: []int32{0, 0, 0}},
		"too large":   {Partitions: []int32{0, 3, 0}, MetadataEpoch: 7},
		"negative":    {Partitions: []int32{-2, 0, 0}, MetadataEpoch: 7},
		"any for key": {Partitions: []int32{0, -1, 0}, MetadataEpoch: 7},
	} {
		out := []int32{9, 9, 9}
		if err := assigned(r, a, out); !errors.Is(err, plugin.ErrBadAnswer) || out[0] != 9 {
			t.Errorf("%s: %v, out %v; want ErrBadAnswer and nothing taken over", name, err, out)
		}
	}
}

// FuzzAssignRequest reads any bytes as a question: it is refused, or comes out as it
// went in.
func FuzzAssignRequest(f *testing.F) {
	for _, r := range []*partitioner.Request{
		{Topic: "t", Partitions: 1, Keys: [][]byte{nil, {}, []byte("key")}},
		{Topic: "t", Partitions: 4, TopicID: [16]byte{1}, Keys: [][]byte{{1}}, ValueSizes: []int32{-1}, Available: []int32{3}},
	} {
		m, err := assignRequest(r)
		if err != nil {
			f.Fatal(err)
		}
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m pluginpb.AssignRequest
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		r, err := partitionerRequest(&m)
		if err != nil {
			return
		}
		again, err := assignRequest(r)
		if err != nil {
			t.Fatalf("a question that was taken can't be asked: %v", err)
		}
		if !bytes.Equal(again.Keys, m.Keys) || !reflect.DeepEqual(append([]int32{}, again.KeyLengths...), append([]int32{}, m.KeyLengths...)) {
			t.Fatalf("keys %v %v became %v %v", m.Keys, m.KeyLengths, again.Keys, again.KeyLengths)
		}
	})
}
