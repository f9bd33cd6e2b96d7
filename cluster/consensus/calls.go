package consensus

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"

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

// callElementsMax bounds what one part of a call may hold.
const callElementsMax = 1 << 16

// encode is the body of a call.
func encode(v any) ([]byte, error) {
	b, err := cbor.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode call: %w", err)
	}
	return b, nil
}

// decode reads what encode wrote. Fields that this build does not know are left out:
// a newer node may say more.
func decode(b []byte, v any) error {
	mode, err := cbor.DecOptions{MaxArrayElements: callElementsMax, MaxMapPairs: callElementsMax,
		IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden}.DecMode()
	if err != nil {
		return fmt.Errorf("decode call: %w", err)
	}
	if err := mode.Unmarshal(b, v); err != nil {
		return fmt.Errorf("decode call: %w", err)
	}
	return nil
}
