package logdir

import "time"

const (
	// roomEvery is how often a full directory is looked at.
	roomEvery = 250 * time.Millisecond
	// roomAfter is how long nothing may have been refused before a directory counts as
	// having room: a quota is not seen in the file system's own figures, and followers try
	// once a second.
	roomAfter = 2 * time.Second
	// roomBytes is what must be free then, or a twentieth of a smaller file system: a few
	// bytes that a deletion gave back are gone with the next batch.
	roomBytes = 4 * DefaultReserveBytes
	roomShare = 20
)

// Full says that the directory has no room. It begins with the first write that found no
// space and ends when there is plenty and nothing was refused for a while, so that it does
// not come and go with each append that still fits; an append may be tried all the same
// (Writable). It costs one atomic load.
func (d *Dir) Full() bool { return d.full.Load() }

// Full says whether a directory that is in use has no room.
func (s *Set) Full() bool {
	for _, d := range s.dirs {
		if d.Full() {
			return true
		}
	}
	return false
}

// noSpace notes that an operation found no space.
func (d *Dir) noSpace(op string, err error) {
	now := d.set.sinceStart()
	d.fullUntil.Store(int64(now + fullPause))
	d.refusedAt.Store(int64(now))
	if d.Offline() != nil || !d.full.CompareAndSwap(false, true) {
		return
	}
	d.set.fullDirs.Add(1)
	if d.Offline() != nil { // it went offline meanwhile: takeOffline may have been too early
		if d.full.Swap(false) {
			d.set.fullDirs.Add(-1)
		}
		return
	}
	d.set.log.Error("log directory is full: appends are refused until there is space, and others lead its partitions where they can", "dir", d.Path, "op", op, "err", err)
	d.tellFull()
	d.set.clock.AfterFunc(roomEvery, d.lookForRoom)
}

// tellFull tells whoever wants to know that the directory is full.
func (d *Dir) tellFull() {
	if d.set.onFull != nil {
		d.set.onFull(d)
	}
}

// lookForRoom looks whether a full directory has room again, and comes again if not.
func (d *Dir) lookForRoom() {
	if d.set.isClosed() || !d.Full() {
		return
	}
	if !d.hasRoom() {
		d.tellFull() // partitions may have found only now that they can't append
		d.set.clock.AfterFunc(roomEvery, d.lookForRoom)
		return
	}
	if !d.full.CompareAndSwap(true, false) {
		return // it went offline
	}
	d.set.fullDirs.Add(-1)
	d.set.log.Info("log directory has room again", "dir", d.Path)
	if d.set.onRoom != nil {
		d.set.onRoom(d)
	}
}

// hasRoom says whether there is plenty of space and nobody has missed it for a while.
func (d *Dir) hasRoom() bool {
	if d.set.sinceStart()-time.Duration(d.refusedAt.Load()) < roomAfter {
		return false
	}
	u, err := d.Usage()
	return err == nil && u.Available >= min(roomBytes, u.Total/roomShare)
}
