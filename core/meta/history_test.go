package meta

import (
	"fmt"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
)

// changed is an image after a change of some topics, from the number first on.
func changed(i *Image, first, count int) *Image {
	e := i.Edit(i.Index + 1)
	for n := first; n < first+count; n++ {
		e.PutTopic(&Topic{Name: fmt.Sprint(n), ID: kafka.TopicID{byte(n), byte(n >> 8), 1}})
	}
	return e.Image()
}

// An image knows the last changes only, and says so when it is asked about older ones.
func TestImagesForget(t *testing.T) {
	first := changed(Empty("c"), 0, 10)
	i := first
	for n := range historyMax - 1 {
		i = changed(i, n, 1)
	}
	if ids, known := i.ChangedSince(first); !known || len(ids) != historyMax-1 {
		t.Errorf("%d topics changed, known %v, want %d", len(ids), known, historyMax-1)
	}
	e := i.Edit(i.Index + 1)
	e.SetNextProducerID(5) // no topic: it is no step
	if i = e.Image(); len(i.history) != historyMax {
		t.Errorf("%d steps, want %d", len(i.history), historyMax)
	}
	if _, known := i.ChangedSince(first); !known {
		t.Error("what concerns no topic made it forget")
	}
	i = changed(i, 5, 1)
	if _, known := i.ChangedSince(first); known || len(i.history) != historyMax {
		t.Errorf("the oldest step is still known: %d steps", len(i.history))
	}
	wide := changed(i, 0, historyTopicsMax+1)
	if _, known := wide.ChangedSince(i); known || len(wide.history) != 1 {
		t.Errorf("a change of %d topics is told apart in %d steps", historyTopicsMax+1, len(wide.history))
	}
	if ids, known := changed(wide, 3, 1).ChangedSince(wide); !known || len(ids) != 1 {
		t.Errorf("after it %d topics changed, known %v, want 1", len(ids), known)
	}
}

// Images that do not come from each other know nothing of each other, whatever their
// indexes are: one of them may have been restored.
func TestImagesOfAnotherDescent(t *testing.T) {
	first := changed(Empty("c"), 0, 3)
	one, other := changed(first, 0, 1), changed(first, 1, 1)
	for _, pair := range [][2]*Image{{one, other}, {other, one}, {first, changed(one, 2, 1).restored()}, {Empty("c"), Empty("c")}, {one, first}} {
		if ids, known := pair[1].ChangedSince(pair[0]); known {
			t.Errorf("image %d knows that since image %d of others %v changed", pair[1].Index, pair[0].Index, ids)
		}
	}
}

// restored is an image as one that comes from a snapshot.
func (i *Image) restored() *Image {
	e := Empty(i.ClusterID).Edit(i.Index)
	for t := range i.Topics() {
		e.PutTopic(t)
	}
	return e.Image()
}
