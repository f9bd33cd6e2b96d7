package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/mortisemq/mortise/core/broker"
)

// askBrokers adds what the protocol tells, and gives the hosts of the brokers.
func (a *app) askBrokers(ctx context.Context, v *healthView) (hosts []string, err error) {
	admin, done, err := a.admin()
	if err != nil {
		return nil, err
	}
	defer done()
	m, err := admin.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	v.ClusterID, v.Brokers = m.Cluster, len(m.Brokers)
	for _, b := range m.Brokers {
		hosts = append(hosts, b.Host)
	}
	for _, t := range m.Topics.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			v.addPartition(&p)
		}
	}
	dirs, err := admin.DescribeAllLogDirs(ctx, nil)
	if errors.Is(err, kerr.ClusterAuthorizationFailed) {
		v.noDirs = true // admin listeners tell of them
		return hosts, nil
	}
	if err != nil && len(dirs) == 0 {
		v.add("unreachable", fmt.Sprintf("log directories: %v", err), "look at why brokers do not answer")
		return hosts, nil
	}
	for _, b := range m.Brokers {
		if _, answered := dirs[b.NodeID]; !answered {
			v.add("unreachable", fmt.Sprintf("broker %d does not answer at %s:%d", b.NodeID, b.Host, b.Port), "start it, or look at why it does not answer")
		}
		for _, d := range dirs[b.NodeID] {
			v.addDir(&d)
		}
	}
	return hosts, nil
}

// addPartition notes what is wrong with a partition.
func (v *healthView) addPartition(p *kadm.PartitionDetail) {
	v.Partitions++
	name := fmt.Sprintf("%s-%d", p.Topic, p.Partition)
	switch {
	case p.Leader < 0:
		v.Offline++
		v.add("offline-partition", fmt.Sprintf("%s has no leader; its replicas are %s", name, ids(p.Replicas)), "start one of these brokers")
	case len(p.ISR) < len(p.Replicas):
		v.UnderReplicated++
		v.add("under-replicated", fmt.Sprintf("%s: in sync are %s of %s", name, ids(p.ISR), ids(p.Replicas)), "start the brokers that are missing, and look at the health of each")
	}
}

// addDir notes a log directory and what is wrong with it.
func (v *healthView) addDir(d *kadm.DescribedLogDir) {
	view := logDirView{Broker: d.Broker, Path: d.Dir, TotalBytes: d.TotalBytes, AvailableBytes: d.UsableBytes}
	switch {
	case d.Err != nil:
		view.Offline = kerrName(d.Err)
		view.TotalBytes, view.AvailableBytes = -1, -1
		v.add("log-dir-offline", fmt.Sprintf("broker %d: log directory %s is offline: %s", d.Broker, d.Dir, view.Offline),
			"the log of the broker says why; repair the disk, then start the broker again")
	case d.TotalBytes > 0 && d.UsableBytes*100/d.TotalBytes < broker.RoomMin:
		v.add("disk-full", fmt.Sprintf("broker %d: log directory %s has %d of %d bytes left", d.Broker, d.Dir, d.UsableBytes, d.TotalBytes),
			"make room: delete topics, lower retention.ms or retention.bytes, or give it a larger disk")
	}
	v.LogDirs = append(v.LogDirs, view)
}
