package clustertest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/replicatest"
)

// history is what was ever committed, and the checkers of it: what one replica has
// below its high watermark every other one has, or will have, byte for byte.
type history struct {
	w          *world
	partitions map[meta.PartitionID]*committed
	order      []meta.PartitionID // of partitions, for checks at the end
	looked     []map[meta.PartitionID]*look
	seen       int            // batches
	mayRepeat  map[int64]bool // tokens of batches that their producer sent under two ids
}

// committed is one partition's batches below a high watermark that somebody had.
type committed struct {
	name    string
	batches []record.Batch
	end     kafka.Offset
	deleted kafka.Offset // records before it may be gone: somebody asked for that
	loose   bool         // unclean elections are allowed: records may be lost
}

// look is how far a process's replica was looked at.
type look struct {
	checked, hw, start, end kafka.Offset
	// doubtful: the power was cut, and the leader has not spoken since. What a follower
	// had cut off may be back below the high watermark that it had noted later; as in
	// Kafka, a truncation is not waited for.
	doubtful bool
}

func newHistory(w *world) *history {
	return &history{w: w, partitions: map[meta.PartitionID]*committed{}, mayRepeat: map[int64]bool{}}
}

// of is a partition's history.
func (h *history) of(id meta.PartitionID) *committed {
	c := h.partitions[id]
	if c == nil {
		c = &committed{name: "?"}
		if t, ok := h.w.control.latest().TopicByID(id.Topic); ok {
			c.name = kafka.TopicPartition{Topic: t.Name, Partition: id.Partition}.String()
			c.loose = h.w.topics.loose(t.Name)
		}
		h.partitions[id] = c
		h.order = append(h.order, id)
	}
	return c
}

// ended forgets a process.
func (h *history) ended(n *node) {
	if n.host < len(h.looked) {
		h.looked[n.host] = nil
	}
}

// look checks a process's replicas as far as they have moved.
func (h *history) look(n *node) {
	for len(h.looked) <= n.host {
		h.looked = append(h.looked, nil)
	}
	if h.looked[n.host] == nil {
		h.looked[n.host] = map[meta.PartitionID]*look{}
	}
	held := n.replicas.Held()
	if looked := h.looked[n.host]; len(looked) > len(held) { // one has moved away
		maps.DeleteFunc(looked, func(id meta.PartitionID, _ *look) bool { return !slices.Contains(held, id) })
	}
	for _, id := range held {
		s, ok := n.replicas.State(id)
		if !ok || s.Failed {
			continue
		}
		l := h.looked[n.host][id]
		if l == nil {
			l = &look{hw: s.HighWatermark, start: s.Start, end: s.End, doubtful: n.torn}
			h.looked[n.host][id] = l
		}
		h.replica(n, id, l, s)
	}
}

// replica checks one replica of a process.
func (h *history) replica(n *node, id meta.PartitionID, l *look, s replicatest.State) {
	c := h.of(id)
	if c.loose {
		return
	}
	if s.End < c.end && h.mayLead(n, id) {
		h.w.fail("eligible: node %d may lead %s, its log ends at %d, and %d is committed", n.id, c.name, s.End, c.end)
	}
	if l.doubtful && !s.Leading && s.HighWatermark == l.hw {
		return
	}
	if s.HighWatermark < l.hw && !l.doubtful && !begins(l, &s) {
		h.w.fail("high watermark: %s on node %d goes back from %d to %d", c.name, n.id, l.hw, s.HighWatermark)
	}
	if s.HighWatermark > s.End {
		h.w.fail("high watermark: %s on node %d: %d is beyond the end %d", c.name, n.id, s.HighWatermark, s.End)
	}
	h.start(n, c, l, &s)
	l.hw, l.doubtful = s.HighWatermark, false
	if s.Leading {
		at := leadership{id, s.Epoch}
		if leader, ok := h.w.image.leaders[at]; ok && leader != n.id {
			h.w.fail("leadership: node %d leads %s in epoch %d, which is node %d's", n.id, c.name, s.Epoch, leader)
		}
	}
	if l.checked = max(l.checked, s.Start); l.checked >= s.HighWatermark {
		return
	}
	batches, err := n.replicas.Batches(id, l.checked, s.HighWatermark)
	if err != nil {
		h.w.fail("read %s on node %d: %v", c.name, n.id, err)
		return
	}
	before := c.end
	for _, b := range batches {
		b := record.Batch(b)
		if b.BaseOffset() > l.checked {
			h.w.fail("log: %s on node %d: nothing between offset %d and %d", c.name, n.id, l.checked, b.BaseOffset())
		}
		h.see(c, b, int(n.id))
		l.checked = b.NextOffset()
	}
	if l.checked < s.HighWatermark {
		h.w.fail("log: %s on node %d: nothing between offset %d and the high watermark %d", c.name, n.id, l.checked, s.HighWatermark)
	}
	if c.end > before {
		h.eligible(id)
	}
}

// begins reports whether a follower's log has just begun anew, with nothing in it: within
// the batch in which its leader's log starts it may go back by a part of that.
func begins(l *look, s *replicatest.State) bool {
	return !s.Leading && s.Start == s.End && l.hw-s.HighWatermark < recordsMost
}

// deleted is that somebody asked for the records before an offset to be deleted.
func (h *history) deleted(id meta.PartitionID, before kafka.Offset) {
	c := h.of(id)
	c.deleted = max(c.deleted, before)
}

// start checks where a log starts: not behind the high watermark, nor behind what was to
// be deleted, and on a leader never before where it was. After a crash it may be: it is
// written down some seconds later, as in Kafka.
func (h *history) start(n *node, c *committed, l *look, s *replicatest.State) {
	switch {
	case s.Start > s.HighWatermark:
		h.w.fail("log start: %s on node %d starts at %d, the high watermark is %d", c.name, n.id, s.Start, s.HighWatermark)
	case s.Start > c.deleted:
		h.w.fail("log start: %s on node %d starts at %d, records are deleted up to %d", c.name, n.id, s.Start, c.deleted)
	case s.Leading && s.Start < l.start:
		h.w.fail("log start: %s on its leader %d goes back from %d to %d", c.name, n.id, l.start, s.Start)
	}
	if s.Start > l.end && s.Start == s.End {
		h.w.churn.Anew++
	}
	l.start, l.end = s.Start, s.End
}

// see is a batch below somebody's high watermark.
func (h *history) see(c *committed, b record.Batch, on int) {
	if c.loose {
		return
	}
	if b.BaseOffset() == c.end {
		c.batches = append(c.batches, bytes.Clone(b))
		c.end = b.NextOffset()
		h.seen++
		return
	}
	i, found := slices.BinarySearchFunc(c.batches, b.BaseOffset(), func(b record.Batch, at kafka.Offset) int { return int(b.BaseOffset() - at) })
	switch {
	case b.BaseOffset() > c.end:
		h.w.fail("committed: %s on %d: a batch at %d, the history ends at %d", c.name, on, b.BaseOffset(), c.end)
	case !found:
		h.w.fail("committed: %s on %d: a batch at %d, where none begins", c.name, on, b.BaseOffset())
	case !bytes.Equal(c.batches[i], b):
		h.w.fail("committed: %s on %d: offset %d is batch %d of epoch %d, it was batch %d of epoch %d",
			c.name, on, b.BaseOffset(), b.BaseTimestamp(), b.LeaderEpoch(), c.batches[i].BaseTimestamp(), c.batches[i].LeaderEpoch())
	}
}

// acknowledged is a batch that a producer was told is safe: it is committed where the
// producer was told. The leader's high watermark had passed it before it answered, and
// was looked at. That what is committed stays is for look and final.
func (h *history) acknowledged(id meta.PartitionID, token int64, base kafka.Offset) {
	h.w.acked++
	c := h.of(id)
	if c.loose {
		return
	}
	i, found := slices.BinarySearchFunc(c.batches, base, func(b record.Batch, at kafka.Offset) int { return int(b.BaseOffset() - at) })
	if !found || c.batches[i].BaseTimestamp() != token {
		there := "nothing yet"
		if found {
			there = fmt.Sprintf("batch %d of epoch %d", c.batches[i].BaseTimestamp(), c.batches[i].LeaderEpoch())
		}
		h.w.fail("acknowledged: %s: batch %d was acknowledged at offset %d, where %s is committed", c.name, token, base, there)
	}
}

// final checks the logs of all replicas when all is well: everything that was ever
// committed is there, everything that was acknowledged, and no batch of an idempotent
// producer twice or out of order.
func (h *history) final() {
	img := h.w.control.latest()
	for _, id := range h.order {
		t, ok := img.TopicByID(id.Topic)
		if !ok || int(id.Partition) >= len(t.Partitions) {
			continue // deleted
		}
		c := h.partitions[id]
		var first []record.Batch
		var start kafka.Offset // of first
		for k, r := range t.Partitions[id.Partition].Replicas {
			log, at := h.whole(c, id, h.w.nodes[r])
			if at > c.deleted && !c.loose { // also of one that is doubtful still
				h.w.fail("log start: %s on replica %d starts at %d, records are deleted up to %d", c.name, r, at, c.deleted)
			}
			if k == 0 {
				first, start = log, at
			} else if why := differ(startingAt(first, at), startingAt(log, start)); why != "" {
				h.w.fail("logs: %s on replica %d: %s", c.name, r, why)
			}
		}
		if c.loose {
			continue
		}
		kept := startingAt(c.batches, start)
		if len(first) < len(kept) || !slices.EqualFunc(first[:len(kept)], kept, func(a, b record.Batch) bool { return bytes.Equal(a, b) }) {
			h.w.fail("committed: %s: the log of %d batches from %d is not what was committed, %d batches", c.name, len(first), start, len(kept))
		}
		h.sequences(c)
	}
}

// startingAt is what is left of a log that starts at an offset.
func startingAt(log []record.Batch, start kafka.Offset) []record.Batch {
	n := 0
	for n < len(log) && log[n].NextOffset() <= start {
		n++
	}
	return log[n:]
}

// differ says where a log differs from another one; empty: nowhere.
func differ(a, b []record.Batch) string {
	for i := range min(len(a), len(b)) {
		if !bytes.Equal(a[i], b[i]) {
			return fmt.Sprintf("batch %d of %d bytes at %d with epoch %d, where the first replica has batch %d of %d bytes at %d with epoch %d",
				b[i].BaseTimestamp(), len(b[i]), b[i].BaseOffset(), b[i].LeaderEpoch(), a[i].BaseTimestamp(), len(a[i]), a[i].BaseOffset(), a[i].LeaderEpoch())
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d batches, where the first replica has %d", len(b), len(a))
	}
	return ""
}

// whole is a replica's whole log, and where it starts.
func (h *history) whole(c *committed, id meta.PartitionID, n *node) ([]record.Batch, kafka.Offset) {
	s, _ := n.state(id)
	batches, err := n.replicas.Batches(id, s.Start, s.End)
	if err != nil {
		h.w.fail("read %s on node %d: %v", c.name, n.id, err)
	}
	all := make([]record.Batch, len(batches))
	for i, b := range batches {
		all[i] = b
	}
	return all, s.Start
}

// sequences checks that no batch of an idempotent producer is there twice, and that
// each producer's batches follow each other. What was deleted counts as well; but a
// replica that began anew behind it knows nothing of its producers, and takes any
// sequence number, as in Kafka.
func (h *history) sequences(c *committed) {
	next, seen := map[kafka.ProducerID]int32{}, map[int64]kafka.Offset{}
	last := map[kafka.ProducerID]kafka.Offset{}
	for _, b := range c.batches {
		id := b.ProducerID()
		if id < 0 {
			continue
		}
		if at, twice := seen[b.BaseTimestamp()]; twice && at >= c.deleted && !h.mayRepeat[b.BaseTimestamp()] {
			h.w.fail("idempotence: %s: batch %d is at offset %d and again at %d", c.name, b.BaseTimestamp(), at, b.BaseOffset())
			return
		}
		seen[b.BaseTimestamp()] = b.BaseOffset()
		want, known := next[id]
		if at := last[id]; known && at < c.deleted {
			want = b.BaseSequence()
		}
		if known && b.BaseSequence() != want || !known && b.BaseSequence() != 0 {
			h.w.fail("idempotence: %s: producer %d's sequence %d at offset %d, want %d", c.name, id, b.BaseSequence(), b.BaseOffset(), want)
			return
		}
		next[id], last[id] = b.LastSequence()+1, b.BaseOffset()
	}
}
