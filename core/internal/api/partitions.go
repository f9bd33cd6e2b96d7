package api

import (
	"cmp"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// partitionView is a partition as clients of one listener see it.
type partitionView struct {
	code                   kafka.ErrorCode
	leader                 kafka.BrokerID
	replicas, isr, offline []int32
}

// viewer shows partitions to the clients of a listener. What it looks up of a
// broker it keeps, because many partitions have the same ones.
type viewer struct {
	img      *meta.Image
	listener string
	brokers  map[kafka.BrokerID]brokerView
	arena    []int32 // room for the next lists of ids
}

// arenaIDs is how many ids are made room for at once.
const arenaIDs = 1024

// brokerView is what counts of a broker.
type brokerView struct{ known, offline, reachable bool }

func newViewer(img *meta.Image, listener string) *viewer {
	return &viewer{img: img, listener: listener, brokers: map[kafka.BrokerID]brokerView{}}
}

// broker looks at a broker.
func (v *viewer) broker(id kafka.BrokerID) brokerView {
	if seen, ok := v.brokers[id]; ok {
		return seen
	}
	var seen brokerView
	b, known := v.img.Broker(id)
	if known {
		_, hasListener := b.Endpoint(v.listener)
		seen = brokerView{known: true, reachable: hasListener, offline: b.Fenced || !hasListener}
	} else {
		seen.offline = true
	}
	v.brokers[id] = seen
	return seen
}

// look shows one partition. A partition without a reachable leader is shown all
// the same, with the error that makes clients look again.
func (v *viewer) look(p *meta.Partition) partitionView {
	out := partitionView{leader: p.Leader, replicas: v.ids(p.Replicas), isr: v.ids(p.ISR)}
	for _, id := range p.Replicas {
		if v.broker(id).offline {
			out.offline = append(out.offline, int32(id))
		}
	}
	leader := v.broker(p.Leader)
	switch {
	case !leader.known:
		out.code, out.leader = kafka.ErrLeaderNotAvailable, kafka.NoBroker
	case !leader.reachable:
		out.code, out.leader = kafka.ErrListenerNotFound, kafka.NoBroker
	}
	return out
}

// online are those of the ids that are not offline.
func (v *viewer) online(ids []int32) []int32 {
	return slices.DeleteFunc(ids, func(id int32) bool { return v.broker(kafka.BrokerID(id)).offline })
}

// ids is the function of that name in memory that many lists share.
func (v *viewer) ids(brokers []kafka.BrokerID) []int32 {
	if len(v.arena)+len(brokers) > cap(v.arena) {
		v.arena = make([]int32, 0, max(arenaIDs, len(brokers)))
	}
	first := len(v.arena)
	for _, id := range brokers {
		v.arena = append(v.arena, int32(id))
	}
	return v.arena[first:len(v.arena):len(v.arena)]
}

// ids are broker ids as numbers, never nil.
func ids(brokers []kafka.BrokerID) []int32 {
	out := make([]int32, len(brokers))
	for i, id := range brokers {
		out[i] = int32(id)
	}
	return out
}

// node is a broker's address for clients of one listener.
type node struct {
	id       kafka.BrokerID
	endpoint meta.Endpoint
	rack     *string
	fenced   bool
}

// nodes are the brokers that clients of a listener can reach, by id. Fenced ones
// are left out unless they are asked for.
func nodes(img *meta.Image, listener string, fenced bool) []node {
	var out []node
	for b := range img.Brokers() {
		e, ok := b.Endpoint(listener)
		if !ok || b.Fenced && !fenced {
			continue
		}
		n := node{id: b.ID, endpoint: e, fenced: b.Fenced}
		if b.Rack != "" {
			n.rack = &b.Rack
		}
		out = append(out, n)
	}
	slices.SortFunc(out, func(x, y node) int { return cmp.Compare(x.id, y.id) })
	return out
}

// controllerFor is the broker that clients should send admin requests to. Every
// broker takes them, so it is the one that they talk to already.
func (a *API) controllerFor(all []node) kafka.BrokerID {
	for _, n := range all {
		if n.id == a.deps.Self {
			return n.id
		}
	}
	if len(all) > 0 {
		return all[0].id
	}
	return kafka.NoBroker
}
