package meta

import (
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// Bounds of what an image remembers of the changes before it: so many changes, and so
// many topics of one. Both full, that is 1 MiB, which all images of a node share.
const (
	historyMax       = 64
	historyTopicsMax = 1024
)

// step is one change of topics or of their configs. Images are told apart by the last
// step that they have, not by their index: so an image that was restored has nothing in
// common with those before it, whatever its index.
type step struct {
	topics []kafka.TopicID // made, changed, configured or removed; some twice
}

// history are the last steps to an image, the newest at the end. There is at least one.
// It does not change.
type history []*step

// after is the history after one more step that touched the topics; none: there is no
// step. What touches too many is not worth to be told apart: nothing is known of what was
// before it.
func (h history) after(topics []kafka.TopicID) history {
	switch {
	case len(topics) == 0:
		return h
	case len(topics) > historyTopicsMax:
		return history{{}}
	}
	kept := h[max(0, len(h)+1-historyMax):]
	return append(append(make(history, 0, len(kept)+1), kept...), &step{topics})
}

// ChangedSince are the topics that were made, changed, removed or got another config
// after the image old, each once, in the order of their ids. known is false if old is no
// image from which this one came by the last few changes: then any topic may be another.
func (i *Image) ChangedSince(old *Image) (topics []kafka.TopicID, known bool) {
	last := old.history[len(old.history)-1]
	at := slices.Index(i.history, last)
	if at < 0 {
		return nil, false
	}
	for _, s := range i.history[at+1:] {
		topics = append(topics, s.topics...)
	}
	slices.SortFunc(topics, kafka.TopicID.Compare)
	return slices.Compact(topics), true
}

// NamesChangedSince are the names of the topics of ChangedSince that one of the images has,
// each once.
func (i *Image) NamesChangedSince(old *Image) (names []string, known bool) {
	ids, known := i.ChangedSince(old)
	for _, id := range ids {
		t, ok := i.TopicByID(id)
		if !ok {
			t, ok = old.TopicByID(id)
		}
		if ok { // else it came and went in between
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), known
}
