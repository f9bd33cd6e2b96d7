package consensus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
)

// Times of joining.
const (
	joinAfter   = 2 * time.Second        // without a leader, until a member asks to be let in
	joinCall    = 15 * time.Second       // for one node to let this one in: changes of members wait for each other
	joinPause   = 500 * time.Millisecond // between rounds over all addresses
	probeWait   = time.Second            // for neighbours of a lone voter
	pingTimeout = time.Second            // for another node with the id of one that joins
)

// joinRequest asks to be let in.
type joinRequest struct {
	Node      kafka.BrokerID `cbor:"1,keyasint"`
	ClusterID string         `cbor:"2,keyasint,omitempty"` // or the identity, of a node that has one; empty: any
	Address   string         `cbor:"3,keyasint"`
	Instance  peer.Instance  `cbor:"4,keyasint"`
	Fresh     bool           `cbor:"5,keyasint,omitempty"` // it has no log, not even its votes
	Forwarded bool           `cbor:"6,keyasint,omitempty"` // by a node that does not lead
}

// joinAnswer lets a node in.
type joinAnswer struct {
	Identity string         `cbor:"1,keyasint"` // of the cluster
	Leader   kafka.BrokerID `cbor:"2,keyasint"`
}

// isFinal says whether asking again could not help: another cluster, or another node
// with this id.
func isFinal(err error) bool {
	return errors.Is(err, ErrForeign) || errors.Is(err, ErrDuplicate) ||
		errors.Is(err, kafka.ErrInconsistentClusterID.Err("")) || errors.Is(err, kafka.ErrDuplicateBrokerRegistration.Err(""))
}

// join waits until a cluster lets this node in, before raft starts.
func (g *Group) join(ctx context.Context, fresh bool) error {
	if g.options.Port == nil {
		return fmt.Errorf("join: %w", errNoPort)
	}
	var last error
	for {
		err := g.askToJoin(ctx, fresh)
		if err == nil || isFinal(err) || errors.Is(err, ErrOtherBuild) {
			return err
		}
		if last == nil || ctx.Err() == nil { // that the time is over says little
			last = err
		}
		g.options.Log.Info("control: waiting for a cluster to join", "error", last)
		select {
		case <-time.After(joinPause):
		case <-ctx.Done():
			return fmt.Errorf("no cluster to join: %w", last)
		}
	}
}

// askToJoin asks everybody who may know the cluster, until one lets this node in.
func (g *Group) askToJoin(ctx context.Context, fresh bool) error {
	var errs []error
	for _, address := range g.doors() {
		short, stop := context.WithTimeout(ctx, joinCall)
		a, err := g.knock(short, kafka.NoBroker, address, fresh)
		stop()
		if err == nil {
			g.options.Port.SetCluster(a.Identity)
			return nil
		}
		if err = g.explain(err); isFinal(err) {
			return err // the next one would say the same
		}
		errs = append(errs, fmt.Errorf("%s: %w", address, err))
	}
	if len(errs) == 0 {
		return errors.New("there is no address to join")
	}
	return errors.Join(errs...)
}

// doors are the addresses that may let this node in, without its own: where it was before
// it moved another cluster may be by now.
func (g *Group) doors() []string {
	var all []string
	if g.options.Join != nil {
		all = slices.Clone(g.options.Join())
	}
	add := func(address string) {
		if address != "" && !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	for b := range g.Image().Brokers() {
		if b.ID != g.options.NodeID {
			add(b.Peer)
		}
	}
	members := g.machine.members.Load()
	for _, s := range members.Servers {
		if address, ok := addressIn(*members, s.ID); ok && s.ID != g.serverID() {
			add(address)
		}
	}
	own := g.options.Port
	return slices.DeleteFunc(all, func(a string) bool { return a == own.Advertised() || a == own.Addr().String() })
}

// knock asks one node.
func (g *Group) knock(ctx context.Context, id kafka.BrokerID, address string, fresh bool) (joinAnswer, error) {
	port := g.options.Port
	q := joinRequest{Node: g.options.NodeID, ClusterID: g.wantedCluster(), Address: port.Advertised(), Instance: port.Instance(), Fresh: fresh}
	var a joinAnswer
	body, err := encode(&q)
	if err != nil {
		return a, err
	}
	if body, err = port.Call(ctx, id, address, peer.KindJoin, body); err != nil {
		return a, err
	}
	return a, decode(body, &a)
}

// wantedCluster is the identity of the cluster that this node is of, or the id of the one
// that it shall be of; empty: any.
func (g *Group) wantedCluster() string {
	if identity := g.machine.identity(); identity != "" {
		return identity
	}
	return g.options.ClusterID
}

// explain says what an error means for who starts this node.
func (g *Group) explain(err error) error {
	var refused *peer.RefusedError
	own := g.machine.identity()
	switch {
	case errors.As(err, &refused) && own != "" && refused.Cluster != "" && refused.Cluster != own:
		return fmt.Errorf("%w: node %d at %s is of cluster %s, and the data of this node are of cluster %s: give it another data folder, or another address to join",
			ErrForeign, refused.Node, refused.Address, refused.Cluster, own)
	case errors.As(err, &refused) && refused.Format:
		return fmt.Errorf("%w: %w", ErrOtherBuild, err)
	case errors.Is(err, kafka.ErrInconsistentClusterID.Err("")):
		return fmt.Errorf("%w: %w", ErrForeign, err)
	case errors.Is(err, kafka.ErrDuplicateBrokerRegistration.Err("")):
		return fmt.Errorf("%w: %w", ErrDuplicate, err)
	}
	return err
}

// introduce tells a leader who this node is, for it to object.
func (g *Group) introduce(ctx context.Context, leader kafka.BrokerID) error {
	address, ok := g.addressOf(leader)
	if !ok {
		return fmt.Errorf("%w: node %d: its address is not known", peer.ErrUnreachable, leader)
	}
	_, err := g.knock(ctx, leader, address, false)
	return g.explain(err)
}

// checkNeighbours looks whether the addresses that a lone voter could join are of its
// cluster: a node that once began a cluster of its own by mistake must not go on with
// it in silence. Those that do not answer don't count.
func (g *Group) checkNeighbours(ctx context.Context) error {
	port := g.options.Port
	if port == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, probeWait)
	defer stop()
	doors := g.doors()
	answers := make(chan error, len(doors))
	for _, address := range doors {
		go func() {
			_, err := port.Call(ctx, kafka.NoBroker, address, peer.KindPing, nil)
			answers <- g.explain(err)
		}()
	}
	var final error
	for range doors { // Call ends with ctx
		if err := <-answers; isFinal(err) {
			final = err
		}
	}
	return final
}

// answerJoin is knock's other side.
func (g *Group) answerJoin(ctx context.Context, body []byte) ([]byte, error) {
	var q joinRequest
	if err := decode(body, &q); err != nil {
		return nil, kafka.ErrInvalidRequest.Err(err.Error())
	}
	own := g.machine.identity()
	if own == "" { // it has not begun yet
		return nil, errNobodyLeads
	}
	if q.ClusterID != "" && q.ClusterID != own && q.ClusterID != g.machine.clusterID() {
		return nil, kafka.ErrInconsistentClusterID.Err(fmt.Sprintf("Node %d wants to join cluster %s, and this is cluster %s.", q.Node, q.ClusterID, own))
	}
	leader, _ := g.Leader()
	switch {
	case g.Leads():
		if err := g.letIn(ctx, &q); err != nil {
			return nil, err
		}
		return encode(&joinAnswer{Identity: own, Leader: g.options.NodeID})
	case leader == kafka.NoBroker || leader == g.options.NodeID || q.Forwarded:
		return nil, errNobodyLeads
	}
	q.Forwarded = true
	forwarded, err := encode(&q)
	if err != nil {
		return nil, err
	}
	return g.Call(ctx, leader, peer.KindJoin, forwarded)
}

// letIn makes a node a member, as the leader.
func (g *Group) letIn(ctx context.Context, q *joinRequest) error {
	select { // one at a time, or the second of two with one id would not find the first
	case g.joining <- struct{}{}:
		defer func() { <-g.joining }()
	case <-ctx.Done():
		return kafka.ErrRequestTimedOut.Err("")
	}
	if q.Node < 0 || q.Address == "" {
		return kafka.ErrInvalidRequest.Err(fmt.Sprintf("Node %d at %q cannot join.", q.Node, q.Address))
	}
	if err := g.checkDuplicate(ctx, q); err != nil {
		return err
	}
	if q.Fresh {
		g.seat.forget(serverID(q.Node)) // how far it had come is worth nothing any more
	}
	servers := g.servers()
	at := slices.IndexFunc(servers, func(s raft.Server) bool { return s.ID == serverID(q.Node) })
	if at >= 0 && q.Fresh && servers[at].Suffrage == raft.Voter {
		// It lost its disk, and with it whom it voted for and what it helped to
		// decide. As a voter it could undo that.
		g.options.Log.Warn("control: a voter comes back with an empty disk and loses its vote", "node", q.Node)
		if err := g.Demote(ctx, q.Node); err != nil {
			return err
		}
		servers[at].Suffrage = raft.Nonvoter
	}
	if at >= 0 && servers[at].Address == memberAddress(q.Node, q.Address) {
		return nil
	}
	g.options.Log.Info("control: a node joins", "node", q.Node, "address", q.Address)
	return g.AddNonvoter(ctx, q.Node, q.Address)
}

// checkDuplicate refuses a node whose id another one has, which is alive at another
// address.
func (g *Group) checkDuplicate(ctx context.Context, q *joinRequest) error {
	if own := g.options.Port; q.Node == g.options.NodeID && q.Instance == own.Instance() {
		return errNobodyLeads // this node did when it asked
	} else if q.Node == g.options.NodeID {
		return duplicate(q, own.Advertised())
	}
	known := ""
	if b, ok := g.Image().Broker(q.Node); ok {
		known = b.Peer
	}
	if known == "" {
		known, _ = g.machine.addressOf(serverID(q.Node))
	}
	if known == "" || known == q.Address {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, pingTimeout)
	defer stop()
	instance, err := g.options.Port.Call(ctx, q.Node, known, peer.KindPing, nil)
	if err != nil || slices.Equal(instance, q.Instance[:]) {
		return nil // nobody is there, or it is the one who asks
	}
	return duplicate(q, known)
}

// duplicate is the refusal of a second node with one id.
func duplicate(q *joinRequest, where string) error {
	return kafka.ErrDuplicateBrokerRegistration.Err(fmt.Sprintf("Another node with id %d is alive at %s: give the one at %s an id of its own.", q.Node, where, q.Address))
}
