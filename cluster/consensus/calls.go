package consensus

import (
	"fmt"

	"github.com/mortisemq/mortise/cluster/message"
	"github.com/mortisemq/mortise/cluster/peer"
)

// answerCalls has the port answer what other nodes ask of the control plane.
func (g *Group) answerCalls() {
	port := g.options.Port
	if port == nil {
		return
	}
	port.Handle(peer.KindJoin, g.answerJoin)
	port.Handle(peer.KindPropose, g.answerProposal)
	port.Handle(peer.KindCommitted, g.answerCommitted)
	port.Handle(peer.KindQuorum, g.answerQuorum)
	port.Handle(peer.KindMembers, g.answerVoter)
}

// encode is the body of a call.
func encode(v any) ([]byte, error) {
	b, err := message.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("encode call: %w", err)
	}
	return b, nil
}

// decode reads what encode wrote; the port bounds its bytes.
func decode(b []byte, v any) error {
	if err := message.Decode(b, v); err != nil {
		return fmt.Errorf("decode call: %w", err)
	}
	return nil
}
