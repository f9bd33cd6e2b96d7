package clusterload_test

import (
	"errors"
	"math/rand/v2"
	"syscall"
	"time"
)

// fault is something that happens to one node, and its end. Those that overlap on one node
// don't know of each other.
type fault struct {
	name     string
	empties  bool // it takes the node's disk away
	process  bool // it is about the node's process, of which one at a time makes sense
	breaking func(w *world, r *rand.Rand, id int32) error
}

// faults are what nodes have to live with, as far as this machine can do it to them.
func (w *world) faults() []fault {
	all := processFaults()
	if w.wires != nil {
		all = append(all, linkFaults()...)
	} else {
		all = append(all, proxyFaults()...)
	}
	if w.disks != nil {
		all = append(all, fault{name: "full disk", breaking: func(w *world, r *rand.Rand, id int32) error {
			empty, err := w.disks[id-1].fill()
			if err != nil {
				return err
			}
			pause(r)
			return empty()
		}})
	}
	return all
}

// pause lets the cluster work for a random time: mostly a short one, which nobody needs to
// notice, sometimes one after which others must have taken the node's place.
func pause(r *rand.Rand) {
	least, most := 100*time.Millisecond, 1500*time.Millisecond
	if r.IntN(10) < 3 {
		least, most = most, 8*time.Second
	}
	<-time.After(least + time.Duration(r.Int64N(int64(most-least))))
}

func processFaults() []fault {
	return []fault{
		{name: "kill -9", process: true, breaking: func(w *world, r *rand.Rand, id int32) error {
			if err := w.node(id).Kill(); err != nil {
				return err
			}
			pause(r)
			return w.startAgain(id)
		}},
		{name: "restart", process: true, breaking: func(w *world, r *rand.Rand, id int32) error {
			if err := w.stopInOrder(id); err != nil {
				return err
			}
			pause(r)
			return w.startAgain(id)
		}},
		{name: "SIGSTOP", process: true, breaking: func(w *world, r *rand.Rand, id int32) error {
			err := w.node(id).Signal(syscall.SIGSTOP)
			pause(r)
			return errors.Join(err, w.node(id).Signal(syscall.SIGCONT))
		}},
		{name: "new disk", process: true, empties: true, breaking: func(w *world, r *rand.Rand, id int32) error {
			if err := errors.Join(w.node(id).Kill(), w.node(id).Wipe()); err != nil {
				return err
			}
			return w.startAgain(id)
		}},
	}
}
