package reconcile

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// manyElsewhere is how many topics of other brokers the cluster of these tests has.
const manyElsewhere = 500

// crowd has topics of others, and two that are here.
func crowd(b *broker) (one, two *meta.Topic) {
	one, two = topic("one", 1), topic("two", 2)
	b.change(func(e *meta.Edit) {
		for n := range manyElsewhere {
			far := topic(fmt.Sprint("far-", n), 1)
			far.Partitions[0].Replicas, far.Partitions[0].ISR, far.Partitions[0].Leader = []kafka.BrokerID{2}, []kafka.BrokerID{2}, 2
			e.PutTopic(far)
		}
		e.PutTopic(one)
		e.PutTopic(two)
	})
	return one, two
}

// raised is a topic with a higher leader epoch of its first partition.
func raised(t *meta.Topic) *meta.Topic {
	next := *t
	next.Partitions = slices.Clone(t.Partitions)
	next.Partitions[0].LeaderEpoch++
	return &next
}

// A new image is compared where it changed, however many topics there are; what could not
// be opened is tried again with each.
func TestOnlyWhatChangedIsCompared(t *testing.T) {
	b := newBroker(t)
	b.start()
	defer func() { b.stop(true) }()
	_, two := crowd(b)
	compared := func(f func(*meta.Edit)) []kafka.TopicID {
		t.Helper()
		img := b.control.Image()
		e := img.Edit(img.Index + 1)
		f(e)
		ids, known := b.roles.touched(e.Image())
		if !known {
			t.Fatal("everything is to be compared")
		}
		return ids
	}
	if got := compared(func(e *meta.Edit) { e.SetNextProducerID(1000) }); len(got) != 0 {
		t.Errorf("compared are %v after a change of no topic", got)
	}
	if got := compared(func(e *meta.Edit) { e.PutTopic(raised(two)) }); !slices.Equal(got, []kafka.TopicID{two.ID}) {
		t.Errorf("compared are %v, want the one topic that changed", got)
	}

	late := topic("late", 1)
	b.fs.full.Store(true)
	b.change(func(e *meta.Edit) { e.PutTopic(late) })
	if got := compared(func(e *meta.Edit) { e.RemoveTopic("two") }); len(got) != 2 || !slices.Contains(got, late.ID) {
		t.Errorf("compared are %v, want the one that goes and the one that had no space", got)
	}
	b.fs.full.Store(false)
	b.clock.Advance(time.Second) // the directory notices
	b.change(func(e *meta.Edit) { e.SetNextProducerID(2000) })
	if out := b.append("late", 0); out.Code != kafka.None {
		t.Fatalf("append once there is space: %s", out.Code)
	}
	if got := compared(func(e *meta.Edit) { e.SetNextProducerID(3000) }); len(got) != 0 {
		t.Errorf("compared are %v after all was opened", got)
	}
}

// Who missed so many images that the newest does not know what changed since compares
// everything.
func TestManyMissedImages(t *testing.T) {
	b := newBroker(t)
	b.start()
	defer func() { b.stop(true) }()
	_, two := crowd(b)
	img := b.control.Image()
	edit := func(f func(*meta.Edit)) {
		e := img.Edit(img.Index + 1)
		f(e)
		img = e.Image()
	}
	edit(func(e *meta.Edit) { e.RemoveTopic("one") })
	edit(func(e *meta.Edit) { e.PutTopic(raised(two)) })
	for n := range manyElsewhere {
		edit(func(e *meta.Edit) { e.RemoveTopic(fmt.Sprint("far-", n)) })
	}
	if _, known := b.roles.touched(img); known {
		t.Fatal("the image still knows: the test makes no point")
	}
	b.roles.Apply(img)
	if p, code := b.roles.ByName("two", 0); code != kafka.None || p.Role().Epoch != 5 {
		t.Errorf("the topic that changed: %s", code)
	}
	if b.roles.Topic("one") != nil || len(b.names("one-")) > 1 {
		t.Error("the topic that went is still here")
	}
}
