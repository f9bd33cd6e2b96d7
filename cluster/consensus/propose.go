package consensus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/cluster/peer"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// leaderPatience is how long a decision waits for a leader: longer than an election
// takes, shorter than clients wait for an answer.
const leaderPatience = 5 * time.Second

// forwardWait bounds how long a decision waits for one leader. One that is alive has
// decided by then, or knows that it can't; one that hangs must not hold who asks for as
// long as that may wait.
const forwardWait = 5 * time.Second

// errNobodyLeads says that nothing was decided, because there is nobody to do it.
var errNobodyLeads = kafka.ErrNotController.Err("Nobody leads the control plane at the moment.")

// propose has a command agreed on, here or by the leader, and applied here.
func (g *Group) propose(ctx context.Context, c metadata.Command) (metadata.Result, error) {
	b, err := metadata.EncodeCommand(c)
	if errors.Is(err, metadata.ErrUnreadable) {
		return metadata.Result{}, kafka.ErrInvalidRequest.Err("The request has a text that is not valid UTF-8, or too many parts.")
	}
	if err != nil {
		return metadata.Result{}, err
	}
	if err := g.Ready(ctx); err != nil {
		return metadata.Result{}, err
	}
	q := proposal{Command: b, For: askedFor(ctx), Through: g.options.NodeID}
	var r metadata.Result
	err = g.atLeader(ctx, func(leader kafka.BrokerID, mine bool) (err error) {
		if mine {
			r, err = g.proposeHere(ctx, &q, c)
		} else {
			r, err = g.forward(ctx, leader, &q)
		}
		return err
	})
	if err == nil && q.For != "" {
		g.note("a change was asked for and decided", &q, c, &r)
	}
	return r, err
}

// proposal is a command on its way to the leader.
type proposal struct {
	Command []byte         `cbor:"1,keyasint"`           // as metadata encodes it
	For     string         `cbor:"2,keyasint,omitempty"` // the principal that asks; empty: the cluster itself
	Through kafka.BrokerID `cbor:"3,keyasint"`           // the node at which it asked
}

// principalMax is how many bytes of a principal travel and are logged.
const principalMax = 256

// askedFor is meta.AskedFor, as it may stand in a message.
func askedFor(ctx context.Context) string {
	principal := meta.AskedFor(ctx)
	return strings.ToValidUTF8(principal[:min(len(principal), principalMax)], "?")
}

// note logs who changed what, if it is something that people change.
func (g *Group) note(text string, q *proposal, c metadata.Command, r *metadata.Result) {
	if name, about := metadata.Subjects(c); name != "" {
		g.options.Log.Info("control: "+text, "change", name, "about", about, "principal", q.For, "through", q.Through,
			"refused", r.Refused(), "index", g.Image().Index)
	}
}

// Propose has a command agreed on and applied here, whoever leads. Its errors are a
// client's to retry: NOT_CONTROLLER when nothing was decided, REQUEST_TIMED_OUT when
// that is not known.
func (g *Group) Propose(ctx context.Context, c metadata.Command) (metadata.Result, error) {
	return g.propose(ctx, c)
}

// CallLeader asks the leader, which may be this node.
func (g *Group) CallLeader(ctx context.Context, kind peer.Kind, body []byte) (out []byte, err error) {
	err = g.atLeader(ctx, func(leader kafka.BrokerID, _ bool) (err error) {
		out, err = g.Call(ctx, leader, kind, body)
		return err
	})
	return out, err
}

// atLeader runs ask with the leader, and again with the next one as long as nothing
// was done, until there was no leader for leaderPatience.
func (g *Group) atLeader(ctx context.Context, ask func(leader kafka.BrokerID, mine bool) error) error {
	until := time.Now().Add(leaderPatience)
	for {
		err := error(errNobodyLeads)
		if leader, mine := g.Leader(); leader != kafka.NoBroker {
			err = ask(leader, mine)
		}
		switch {
		case errors.Is(err, peer.ErrLost):
			return kafka.ErrRequestTimedOut.Err("")
		case errors.Is(err, peer.ErrUnreachable), errors.Is(err, kafka.ErrBrokerNotAvailable.Err("")):
			err = errNobodyLeads // nobody is there, or it is starting and does not answer yet
		case !errors.Is(err, kafka.ErrNotController.Err("")):
			return err
		}
		if !time.Now().Before(until) {
			return err
		}
		select {
		case <-time.After(leaderLook):
		case <-g.quit:
			return err
		case <-ctx.Done():
			return err // nothing was decided, which tells more than that the time is over
		}
	}
}

// proposeHere commits a command as the leader.
func (g *Group) proposeHere(ctx context.Context, q *proposal, c metadata.Command) (metadata.Result, error) {
	type outcome struct {
		result metadata.Result
		err    error
	}
	if !g.enter() {
		return metadata.Result{}, kafka.ErrNotController.Err("")
	}
	done := make(chan outcome, 1)
	go func() { // raft's future knows no context
		defer g.running.Done()
		r, err := g.commit(q.Command)
		if err == nil && q.For != "" && q.Through != g.options.NodeID {
			g.note("a change was decided for another node", q, c, &r)
		}
		done <- outcome{r, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return metadata.Result{}, kafka.ErrRequestTimedOut.Err("")
	}
}

// commit appends a command to the log and waits until it is applied here.
func (g *Group) commit(b []byte) (metadata.Result, error) {
	f := g.raft.Apply(b, enqueueWait)
	if err := f.Error(); err != nil {
		return metadata.Result{}, forClient(err)
	}
	return f.Response().(metadata.Result), nil
}

// forward has the leader commit a command, and waits for the image that has it.
//
// The call is the proposal; the answer is the index of the leader's image (uint64) and
// the encoded result.
func (g *Group) forward(ctx context.Context, leader kafka.BrokerID, q *proposal) (metadata.Result, error) {
	b, err := encode(q)
	if err != nil {
		return metadata.Result{}, err
	}
	short, stop := context.WithTimeout(ctx, forwardWait)
	defer stop()
	answer, err := g.Call(short, leader, peer.KindPropose, b)
	if err != nil {
		return metadata.Result{}, err
	}
	if len(answer) < 8 {
		return metadata.Result{}, fmt.Errorf("node %d answered a proposal with %d bytes", leader, len(answer))
	}
	r, err := metadata.DecodeResult(answer[8:])
	if err != nil {
		return r, fmt.Errorf("answer of node %d: %w", leader, err)
	}
	return r, g.machine.waitFor(ctx, g.quit, binary.BigEndian.Uint64(answer))
}

// answerProposal is forward's other side. A command that this build can't read must
// not get into the log, where it would stop every node.
func (g *Group) answerProposal(ctx context.Context, b []byte) ([]byte, error) {
	var q proposal
	err := decode(b, &q)
	var c metadata.Command
	if err == nil {
		c, err = metadata.DecodeCommand(q.Command)
	}
	if err != nil {
		return nil, kafka.ErrInvalidRequest.Err(err.Error())
	}
	if !g.Leads() {
		return nil, kafka.ErrNotController.Err("")
	}
	r, err := g.proposeHere(ctx, &q, c)
	if err != nil {
		return nil, err
	}
	out := binary.BigEndian.AppendUint64(nil, g.Image().Index)
	encoded, err := metadata.EncodeResult(&r)
	if err != nil {
		return nil, err
	}
	return append(out, encoded...), nil
}
