package reconcile

import (
	"fmt"
	"testing"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
)

func TestTableFindsByNameAndID(t *testing.T) {
	tb := newTable()
	var topics []*Topic
	for i := range 1000 {
		topics = append(topics, &Topic{Name: fmt.Sprintf("topic-%d", i), ID: kafka.NewTopicID()})
	}
	tb.change(topics, nil)
	for _, want := range topics {
		if tb.name(want.Name) != want || tb.nameBytes([]byte(want.Name)) != want || tb.id(want.ID) != want {
			t.Fatalf("topic %s was not found", want.Name)
		}
	}
	tb.change(nil, topics[:500])
	n := 0
	for range tb.all {
		n++
	}
	if n != 500 || tb.name("topic-3") != nil || tb.id(topics[3].ID) != nil || tb.name("topic-700") == nil {
		t.Fatalf("%d topics after the removal of half, want the other 500", n)
	}
}

func TestTableKeepsTheNewTopicOfTheSameName(t *testing.T) {
	tb := newTable()
	old, next := &Topic{Name: "t", ID: kafka.NewTopicID()}, &Topic{Name: "t", ID: kafka.NewTopicID()}
	tb.change([]*Topic{old}, nil)
	tb.change([]*Topic{next}, []*Topic{old})
	if tb.name("t") != next || tb.id(old.ID) != nil || tb.id(next.ID) != next {
		t.Fatal("the topic that was made anew is not the one that is found")
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	tb := newTable()
	topic := &Topic{Name: "some-topic", ID: kafka.NewTopicID(), Partitions: []*partition.Partition{new(partition.Partition)}}
	tb.change([]*Topic{topic}, nil)
	name := []byte("some-topic")
	if n := testing.AllocsPerRun(100, func() {
		if tb.nameBytes(name).at(0) == nil || tb.id(topic.ID).at(0) == nil || tb.id(topic.ID).at(1) != nil {
			t.Error("wrong partition")
		}
	}); n != 0 {
		t.Fatalf("%v allocs per lookup, want 0", n)
	}
}
