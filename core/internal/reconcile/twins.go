package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// settleTwins decides about partitions that were found in several directories: a crash
// came when a copy had its log's name already and the log was not removed yet. Nothing
// was appended to the old one after that, so that the one that ends later has all that
// was acknowledged.
func (r *Roles) settleTwins(img *meta.Image) {
	twins := r.o.Dirs.Twins()
	for _, tp := range slices.Collect(maps.Keys(twins)) {
		t, ok := img.Topic(tp.Topic)
		if !ok {
			continue // all of them were set aside
		}
		best := r.longest(img, t, tp, twins[tp])
		if best == nil {
			continue
		}
		if err := r.o.Dirs.Keep(tp, best); err != nil {
			r.o.Log.Error("a second copy of a log could not be removed; it is tried again at the next start", "partition", tp.String(), "err", err)
			continue
		}
		r.o.Log.Warn("a move between log directories was interrupted; it is done now", "partition", tp.String(), "dir", best.Path)
	}
}

// longest is the directory whose log of tp ends last; nil: none can be used.
func (r *Roles) longest(img *meta.Image, t *meta.Topic, tp kafka.TopicPartition, dirs []*logdir.Dir) (best *logdir.Dir) {
	longest := kafka.NoOffset
	for _, d := range dirs {
		end, err := r.endIn(img, d, t, tp)
		switch {
		case errors.Is(err, errForeign):
			continue
		case errors.Is(err, commitlog.ErrCorrupt):
			end = kafka.NoOffset // only if there is no other
		case err != nil:
			d.Failed("compare "+tp.String(), err)
			continue
		}
		if best == nil || end > longest {
			best, longest = d, end
		}
	}
	return best
}

// errForeign says that a folder belongs to another topic, and was set aside.
var errForeign = errors.New("it belongs to another topic")

// endIn opens the log of tp in a directory to see where it ends, which recovers it.
func (r *Roles) endIn(img *meta.Image, d *logdir.Dir, t *meta.Topic, tp kafka.TopicPartition) (kafka.Offset, error) {
	if err := d.Offline(); err != nil {
		return kafka.NoOffset, err
	}
	mine, err := r.claim(d, tp, t.ID)
	if err != nil {
		return kafka.NoOffset, err
	}
	if !mine {
		return kafka.NoOffset, errForeign
	}
	o := r.logOptions(tp, t.ID, d, r.configs.of(img, t.Name), true)
	o.Progress = nil // it is opened once more
	log, err := commitlog.Open(context.Background(), o)
	if err != nil {
		return kafka.NoOffset, err
	}
	defer func() { _ = log.Close(false) }()
	return log.EndOffset(), nil
}
