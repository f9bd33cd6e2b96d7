package clusterload_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mortisemq/mortise/cluster/local"
)

// newBreakableWorld makes a cluster of n nodes whose links can be cut and slowed and whose
// disks can be full, as far as this process may do that.
func newBreakableWorld(t testing.TB, n int, defaults map[string]string) *world {
	t.Helper()
	w := emptyWorld(t)
	o := local.Options{}
	wires, err := newWires(t, n)
	if err == nil {
		w.wires = wires
		for range n {
			o.Ports = append(o.Ports, local.PortsFrom(9092, 1)...) // nobody else is in these networks
		}
	} else {
		t.Log("proxies in place of networks: ", err)
		w.proxies, o, err = newProxies(t, n)
		w.must(err)
	}
	o.Defaults = defaults
	for id := 1; id <= n; id++ {
		place := local.Place{Host: "127.0.0.1", Disk: filepath.Join(w.dir, fmt.Sprintf("node-%d", id))}
		d, err := newDisk(t, w.dir, id)
		if err == nil {
			w.disks = append(w.disks, d)
			place.Disk = d.path
		} else {
			t.Log("no disk can be full: ", err)
		}
		if w.wires != nil {
			place = w.wires.place(int32(id), place.Disk)
		}
		o.Places = append(o.Places, place)
	}
	w.begin(o, n)
	return w
}

// stopInOrder stops a node. With a full disk it can't write everything, says so, and looks
// its logs through when it starts again.
func (w *world) stopInOrder(id int32) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	changes := w.diskChanges(id)
	err := w.node(id).Stop(ctx)
	if err == nil || ctx.Err() != nil || changes%2 == 0 && w.diskChanges(id) == changes {
		return err
	}
	w.note("node %d does not stop cleanly with a full disk: %v", id, err)
	return nil
}

// startAgain starts a node that is down. One that can't start because its disk is full is
// started again when there is space.
func (w *world) startAgain(id int32) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for {
		changes := w.diskChanges(id)
		err := w.node(id).Start(ctx)
		if err == nil || ctx.Err() != nil || changes%2 == 0 && w.diskChanges(id) == changes {
			return err
		}
		w.note("node %d does not start with a full disk: %v", id, err)
		w.disks[id-1].space()
	}
}

// reopenDisks starts those nodes again that have a log directory offline, as their
// operator would, and gives how many. Nothing must be wrong with them otherwise.
func (w *world) reopenDisks() (count int) {
	w.t.Helper()
	for _, n := range w.cluster.Nodes() {
		if w.disks == nil || !w.offline(n) {
			continue
		}
		count++
		w.note("node %d is started again: a log directory is offline", n.ID)
		w.stop(int32(n.ID))
		w.restart(int32(n.ID))
	}
	return count
}

// offline says whether a log directory of a node is offline.
func (w *world) offline(n *local.Node) bool {
	w.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // a proxy does not know the nodes' networks
	offline := false
	w.until("asked for its metrics", func(ctx context.Context) bool {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Admin()+"/metrics", nil)
		w.must(err)
		r, err := client.Do(q)
		if err != nil {
			return false
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		offline = strings.Contains(string(text), "\nmortise_logdir_offline_dirs 1\n")
		return err == nil
	})
	return offline
}

// diskChanges counts how often a node's disk became full and empty; odd: it is full.
func (w *world) diskChanges(id int32) int64 {
	if w.disks == nil {
		return 0
	}
	return w.disks[id-1].changes.Load()
}
