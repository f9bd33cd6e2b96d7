package broker

import "github.com/mortisemq/mortise/core/internal/logdir"

// Full says whether a log directory that is in use has no room. It is for the cluster,
// which has others lead rather than this broker then. It costs a few atomic loads, and may
// be called once the broker has started.
func (b *Broker) Full() bool {
	dirs := b.shown.dirs.Load()
	return dirs != nil && dirs.Full()
}

// full is told that a log directory is full, and again while it is: others lead what it
// leads there, and it leaves the in-sync replicas of what it can't append.
func (b *Broker) full(d *logdir.Dir) {
	b.asker.DirectoryFull()
	b.roomChanged()
}

// roomAgain is told that a log directory is not full any more.
func (b *Broker) roomAgain(*logdir.Dir) { b.roomChanged() }

// roomChanged has the cluster told.
func (b *Broker) roomChanged() {
	if n := b.options.Neighbours; n != nil {
		n.RoomChanged()
	}
}
