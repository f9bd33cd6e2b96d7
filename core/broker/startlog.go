package broker

import "time"

// logStart tells people in few lines what runs here and with which promises.
func (b *Broker) logStart(recovered, took time.Duration) {
	o := &b.options
	log := o.Log
	log.Info("mortise is serving", "version", o.Version.Version, "node", o.NodeID, "cluster", b.image().ClusterID, "took", took.Round(time.Millisecond))
	log.Info("data", "dirs", o.LogDirs, "partitions", b.dirs.Recovery.LogsDone.Load(),
		"recovered_bytes", b.dirs.Recovery.BytesDone.Load(), "took", recovered.Round(time.Millisecond))
	if b.config().Fsync {
		log.Info("durability: fsync: what is acknowledged is on the disk")
	} else {
		log.Info("durability: page-cache: what is acknowledged survives the end of the process; replicas, or durability: fsync, protect against the loss of power")
	}
	for n, l := range o.Listeners {
		if e, err := l.endpoint(b.listeners[n].Addr()); err == nil {
			log.Info("listener", "name", l.Name, "address", b.listeners[n].Addr().String(), "advertised_host", e.Host, "advertised_port", e.Port)
		}
	}
	if b.adminListener != nil {
		log.Info("admin listener", "address", "http://"+b.adminListener.Addr().String())
	}
	log.Info("open files", "limit", openFileLimit(), "for_segments", b.fileHandles())
}
