package group

// Bounds of the deletions of one batch, which has to fit into max.message.bytes of
// __consumer_offsets (1 MiB unless changed).
const (
	sweepRecordsMax = 1000
	sweepBytesMax   = 512 << 10
)

// tombstoneBytes is more than what a deletion takes in a batch besides its key.
const tombstoneBytes = 32

// sweep is one batch of deletions.
type sweep struct {
	records []Record
	bytes   int
	cuts    []cut
	gone    []*Group
}

// cut is one offset to delete.
type cut struct {
	group     *Group
	topic     string
	partition int32
}

// full reports whether the batch has all that it may have. One more group still fits.
func (w *sweep) full() bool { return len(w.records) >= sweepRecordsMax || w.bytes >= sweepBytesMax }

// add adds records.
func (w *sweep) add(records ...Record) {
	for i := range records {
		w.bytes += len(records[i].Key) + tombstoneBytes
	}
	w.records = append(w.records, records...)
}

// cut deletes an offset.
func (w *sweep) cut(g *Group, topic string, partition int32) {
	w.cuts = append(w.cuts, cut{g, topic, partition})
	w.add(offsetTombstone(g.id, topic, partition))
}

// drop deletes a group that has no other offsets than those of which the batch has the
// deletion.
func (w *sweep) drop(g *Group) {
	w.gone = append(w.gone, g)
	w.add(g.tombstone(nil)...)
}

// begin has a batch written, and what it says done once it is.
func (s *State) begin(w *sweep, out *Output) {
	out.Records = append(out.Records, w.records...)
	out.applied = func(int64, *Output) {
		for _, c := range w.cuts {
			s.removeOffset(c.group, c.topic, c.partition)
		}
		for _, g := range w.gone {
			s.drop(g)
		}
	}
}

// expireOffsets deletes what has been kept long enough, and groups that have nothing
// left. When more is left than one batch takes, and the log took that one, it is called
// again at once.
func (s *State) expireOffsets(now int64) (out Output) {
	var w sweep
	for _, g := range s.groups {
		if w.full() {
			break
		}
		if all := s.expired(g, now, &w); all && g.empty() && len(g.pending) == 0 {
			w.drop(g)
		}
	}
	s.begin(&w, &out)
	if w.full() {
		removed := out.applied
		out.applied = func(now int64, next *Output) {
			removed(now, next)
			s.timers.set(&s.sweep, now)
		}
	}
	return out
}

// expired collects the expired offsets of a group, as many as there is room for; all:
// that is every one it has. Offsets of a group with members count from the commit, and
// only of topics that nobody reads; of an empty one from when it became empty; of one
// that never had members, or is of the consumer protocol, from the commit.
func (s *State) expired(g *Group, now int64, w *sweep) (all bool) {
	if len(g.offsets) == 0 {
		return true
	}
	empty := g.protocolType != "" && g.phase == Empty && g.consumers == nil
	if g.protocolType != "" && !empty && !(g.isConsumers() && g.topicsKnown && g.phase == Stable) {
		return false
	}
	all = true
	for topic, partitions := range g.offsets {
		if g.subscribes(topic) {
			all = false
			continue
		}
		for partition, o := range partitions {
			from := o.CommitMS
			if empty && g.since != unknownSince {
				from = g.since
			}
			if o.ExpireMS != noExpiry && now < o.ExpireMS || o.ExpireMS == noExpiry && now-from < s.config.RetentionMS {
				all = false
				continue
			}
			if w.full() {
				return false
			}
			w.cut(g, topic, partition)
		}
	}
	return all
}
