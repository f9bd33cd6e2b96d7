package broker

import (
	"fmt"
	"strings"

	"github.com/mortisemq/mortise/core/internal/admin"
	"github.com/mortisemq/mortise/core/internal/logdir"
	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/internal/reconcile"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// RoomMin is the share of a file system, in percent, below which it is told to be nearly
// full. Appends are refused when nothing is left, which people want to know before.
const RoomMin = 5

// health is the answer of /v1/health.
func (b *Broker) health() admin.Health {
	r := b.readiness()
	h := admin.Health{Broker: int32(b.options.NodeID), Ready: r.Ready, State: r.State, Recovery: r.Recovery, LogDirs: []admin.LogDir{}}
	img := b.image()
	if img != nil {
		h.ClusterID = img.ClusterID
	}
	if !r.Ready {
		h.Add("not-ready", fmt.Sprintf("the broker is %s: %d of %d logs opened", r.State, r.Recovery.LogsDone, r.Recovery.LogsTotal),
			"wait; the log and /readyz tell the progress")
	}
	if dirs := b.shown.dirs.Load(); dirs != nil {
		for _, d := range dirs.Dirs() {
			dirHealth(&h, d)
		}
	}
	if r.Ready {
		b.seatHealth(&h, img)
	}
	if p := b.shown.plugins.Load(); p != nil && r.Ready {
		p.health(&h)
	}
	// What explains others comes before them: partitions may be more than the page tells.
	if roles := b.shown.roles.Load(); roles != nil {
		partitionHealth(&h, roles, img, b.options.NodeID)
	}
	if c := b.shown.compaction.Load(); c != nil {
		for p, why := range c.Failed {
			h.FailedCleans++
			h.Add("failed-cleaning", fmt.Sprintf("%s can't be compacted: %v", p.TopicPartition(), why),
				"check its files with `mortise log verify`; compaction tries again when the broker starts again")
		}
	}
	return h
}

// dirHealth tells about one log directory.
func dirHealth(h *admin.Health, d *logdir.Dir) {
	dir := admin.LogDir{Path: d.Path, TotalBytes: -1, AvailableBytes: -1}
	if err := d.Offline(); err != nil {
		dir.Offline = err.Error()
		h.Add("log-dir-offline", err.Error(), "repair the disk, then start the broker again; it is not used until then")
	} else if u, err := d.Usage(); err == nil {
		dir.TotalBytes, dir.AvailableBytes = int64(u.Total), int64(u.Available)
		if d.Full() || u.Total > 0 && u.Available*100/u.Total < RoomMin {
			h.Add("disk-full", fmt.Sprintf("log directory %s has %d of %d bytes left%s", d.Path, u.Available, u.Total, refusing(d)),
				"make room: delete topics, lower retention.ms or retention.bytes, or give it a larger disk")
		}
	}
	h.LogDirs = append(h.LogDirs, dir)
}

// refusing is what else is to be said of a directory that may be full.
func refusing(d *logdir.Dir) string {
	if !d.Full() {
		return ""
	}
	return ", and appends found no space there a moment ago; others lead its partitions where they can"
}

// partitionHealth tells about the partitions of this broker.
func partitionHealth(h *admin.Health, roles *reconcile.Roles, img *meta.Image, self kafka.BrokerID) {
	for p := range roles.All {
		h.Partitions++
		tp := p.TopicPartition()
		if err := p.Offline(); err != nil {
			h.Offline++
			if p.Dir() == nil || p.Dir().Offline() == nil { // else the directory is the problem
				h.Add("offline-partition", fmt.Sprintf("%s: %v", tp, err), "the log of the broker says what happened to its files; `mortise log verify` checks them")
			}
			continue
		}
		t, ok := img.Topic(tp.Topic)
		if !ok || int(tp.Partition) >= len(t.Partitions) {
			continue
		}
		replicaHealth(h, p, &t.Partitions[tp.Partition], self)
	}
}

// replicaHealth tells about the other replicas of a partition.
func replicaHealth(h *admin.Health, p *partition.Partition, m *meta.Partition, self kafka.BrokerID) {
	if m.Leader == kafka.NoBroker {
		h.Leaderless++
		h.Add("no-leader", fmt.Sprintf("%s: nobody can lead it; its replicas are %s, of which %s could", p.TopicPartition(), brokers(m.Replicas), someBrokers(m.ELR)),
			"start the brokers that could lead it; an unclean election of another one would lose records")
		return
	}
	if m.Leader != self {
		return
	}
	s := stateOf(m.Replicas, m.ISR, p.Config().Topic.MinInsyncReplicas)
	if s.underReplicated {
		h.UnderReplica++
		h.Add("under-replicated", fmt.Sprintf("%s: in sync are %s of %s", p.TopicPartition(), brokers(m.ISR), brokers(m.Replicas)),
			"start the brokers that are missing, and look at the health of each")
	}
	if s.underMinISR {
		h.UnderMinISR++
		h.Add("under-min-isr", fmt.Sprintf("%s: acks=all is refused; in sync are %s, and min.insync.replicas is %d", p.TopicPartition(), brokers(m.ISR), p.Config().Topic.MinInsyncReplicas),
			"start the brokers that are missing")
	}
}

// seatHealth tells about the broker's place in its cluster.
func (b *Broker) seatHealth(h *admin.Health, img *meta.Image) {
	if b.controller() == kafka.NoBroker {
		h.Add("no-controller", "nobody decides for the cluster, as far as this broker knows: produce and fetch go on, changes wait",
			"start the voters that are missing: `mortise cluster voters` lists them")
	}
	if self, known := img.Broker(b.options.NodeID); known && self.Fenced {
		h.Add("fenced", "the cluster does not hear of this broker, so that it leads nothing",
			"look at the network to the others: they must reach its cluster.advertised, and it theirs")
	}
}

// someBrokers lists ids for people, which there may be none of.
func someBrokers(ids []kafka.BrokerID) string {
	if len(ids) == 0 {
		return "none"
	}
	return brokers(ids)
}

// brokers lists ids for people.
func brokers(ids []kafka.BrokerID) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(ids), "[]"), " ", ",")
}
