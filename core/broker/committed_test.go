package broker

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/sdk/storage"
)

// Answers count only if they tell of every partition of __consumer_offsets.
func TestMergeCommitted(t *testing.T) {
	one := Committed{Partitions: []int32{0, 2}, Groups: []GroupCommitted{
		{Group: "b", Topic: "t", Partitions: []int32{0, 1}, Offsets: []int64{5, 6}},
		{Group: "a", Topic: "t", Partitions: []int32{0}, Offsets: []int64{9}}}}
	two := Committed{Partitions: []int32{1}, Groups: []GroupCommitted{{Group: "c", Topic: "u", Partitions: []int32{3}, Offsets: []int64{1}}}}
	moved := Committed{Partitions: []int32{1, 2}, Groups: []GroupCommitted{{Group: "b", Topic: "t", Partitions: []int32{0, 1}, Offsets: []int64{4, 7}}}}
	odd := Committed{Partitions: []int32{1}, Groups: []GroupCommitted{{Group: "c", Topic: "u", Partitions: []int32{3}}}}
	tp := func(topic string, n int32) kafka.TopicPartition {
		return kafka.TopicPartition{Topic: topic, Partition: n}
	}
	for says, c := range map[string]struct {
		answers []Committed
		want    map[kafka.TopicPartition][]storage.GroupOffset // nil: an error
	}{
		"of all": {[]Committed{one, two}, map[kafka.TopicPartition][]storage.GroupOffset{
			tp("t", 0): {{Group: "a", Offset: 9}, {Group: "b", Offset: 5}}, tp("t", 1): {{Group: "b", Offset: 6}}, tp("u", 3): {{Group: "c", Offset: 1}}}},
		"of one twice": {[]Committed{one, moved}, map[kafka.TopicPartition][]storage.GroupOffset{
			tp("t", 0): {{Group: "a", Offset: 9}, {Group: "b", Offset: 4}}, tp("t", 1): {{Group: "b", Offset: 6}}}},
		"not of all":            {[]Committed{one}, nil},
		"of nothing":            {nil, nil},
		"of more than there is": {[]Committed{{Partitions: []int32{0, -1, 7}}, two}, nil},
		"offsets that lack":     {[]Committed{one, odd}, nil},
	} {
		t.Run(says, func(t *testing.T) {
			got, err := mergeCommitted(3, c.answers)
			if (err != nil) != (c.want == nil) || !maps.EqualFunc(got, c.want, slices.Equal[[]storage.GroupOffset]) {
				t.Errorf("%v, error %v; want %v", got, err, c.want)
			}
		})
	}
}

// A group is told of with those topics that were asked for and have offsets.
func TestCommittedBy(t *testing.T) {
	offsets := map[string]map[int32]group.Offset{"t": {4: {At: 40}, 1: {At: 10}}, "other": {0: {At: 1}}, "none": {}}
	want := []GroupCommitted{{Group: "g", Topic: "t", Partitions: []int32{1, 4}, Offsets: []int64{10, 40}}}
	if got := committedBy("g", offsets, []string{"none", "t", "unheard-of"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
