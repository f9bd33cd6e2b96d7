package membership

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/hashicorp/memberlist"
)

// delegate is what memberlist asks and tells. Its methods run under the library's locks.
type delegate struct{ m *Membership }

// addrPort is where a node gossips.
func addrPort(n *memberlist.Node) netip.AddrPort {
	ip, _ := netip.AddrFromSlice(n.Addr)
	return netip.AddrPortFrom(ip.Unmap(), n.Port)
}

// judge says whether a node may be a member, and what it says of itself.
func (d delegate) judge(n *memberlist.Node) (Facts, error) {
	f, err := decodeFacts(n.Meta)
	if err != nil {
		return f, err
	}
	if n.Name != strconv.Itoa(int(f.ID)) {
		return f, fmt.Errorf("%w: the name is %.40q and the id %d", ErrFacts, n.Name, f.ID)
	}
	own := d.m.Facts()
	if own.ClusterID != "" && f.ClusterID != "" && own.ClusterID != f.ClusterID {
		return f, fmt.Errorf("%w: node %d at %s belongs to cluster %s, this node to %s",
			ErrForeign, f.ID, f.Peer, f.ClusterID, own.ClusterID)
	}
	// The same address is an earlier start of this very node, which others remember.
	if f.ID == own.ID && f.Instance != own.Instance && addrPort(n) != d.m.transport.advertise {
		return f, fmt.Errorf("%w: node %d runs at %s already", ErrDuplicate, f.ID, f.Peer)
	}
	return f, nil
}

// NotifyAlive implements memberlist.AliveDelegate: an error leaves the node out.
func (d delegate) NotifyAlive(n *memberlist.Node) error {
	f, err := d.judge(n)
	if err != nil {
		return err
	}
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	if _, known := d.m.known[f.ID]; !known && len(d.m.known) >= membersMax {
		return fmt.Errorf("%d nodes are known already", membersMax)
	}
	return nil
}

// NotifyMerge implements memberlist.MergeDelegate: an error ends an exchange with a node
// that knows these.
func (d delegate) NotifyMerge(peers []*memberlist.Node) error {
	for _, n := range peers {
		if n.State != memberlist.StateAlive && n.State != memberlist.StateSuspect {
			continue
		}
		// Facts that can't be read are left out one by one when they are merged.
		if _, err := d.judge(n); errors.Is(err, ErrForeign) || errors.Is(err, ErrDuplicate) {
			d.m.mu.Lock()
			d.m.refused = err
			d.m.mu.Unlock()
			return err
		}
	}
	return nil
}

// NotifyConflict implements memberlist.ConflictDelegate: two addresses for one id, of
// which the first stays as long as it lives.
func (d delegate) NotifyConflict(existing, other *memberlist.Node) {
	d.m.log.Warn("two nodes have one id; the first counts while it lives",
		"node", existing.Name, "first", addrPort(existing), "second", addrPort(other))
}

// NotifyJoin implements memberlist.EventDelegate.
func (d delegate) NotifyJoin(n *memberlist.Node) { d.note(n, Alive) }

// NotifyUpdate implements memberlist.EventDelegate.
func (d delegate) NotifyUpdate(n *memberlist.Node) { d.note(n, Alive) }

// NotifyLeave implements memberlist.EventDelegate: the node is dead, or has left.
func (d delegate) NotifyLeave(n *memberlist.Node) { d.note(n, Dead) }

// note remembers how a node was seen. That one is dead is somebody's word, which a deaf
// node gives about everybody: it is looked at first.
func (d delegate) note(n *memberlist.Node, s State) {
	f, err := decodeFacts(n.Meta)
	if err != nil || f.ID == d.m.options.Facts.ID {
		return
	}
	member := Member{Facts: f, Gossip: addrPort(n), State: s}
	switch {
	case s == Dead && !f.Leaving:
		d.m.doubt(member)
		return
	case s == Dead:
		member.State = Left
	}
	d.m.settle(member)
}

// NodeMeta implements memberlist.Delegate.
func (d delegate) NodeMeta(int) []byte { return d.m.facts.Load().encoded }

// NotifyMsg implements memberlist.Delegate: nodes have nothing more to say.
func (d delegate) NotifyMsg([]byte) {}

// GetBroadcasts implements memberlist.Delegate.
func (d delegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState implements memberlist.Delegate.
func (d delegate) LocalState(bool) []byte { return nil }

// MergeRemoteState implements memberlist.Delegate.
func (d delegate) MergeRemoteState([]byte, bool) {}
