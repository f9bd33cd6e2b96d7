package controller

import (
	"fmt"

	"github.com/mortisemq/mortise/cluster/metadata"
	"github.com/mortisemq/mortise/core/kafka"
)

// Action is something that a Machine wants done. Each has an end that the Machine must
// be told of, whatever it is.
type Action interface {
	fmt.Stringer
	isAction()
}

// Decide asks for a command about a broker; its end is Machine.Decided.
type Decide struct {
	Broker  kafka.BrokerID // NoBroker: about partitions
	Command metadata.Command
	Why     string // for people
}

// Ping asks a node whether it is there; its end is Machine.Pong.
type Ping struct{ ID kafka.BrokerID }

// VoterChange changes the members of the control plane; its end is Machine.Changed.
type VoterChange struct {
	Kind ChangeKind
	ID   kafka.BrokerID
}

// ChangeKind is what a VoterChange does.
type ChangeKind int8

// Kinds of changes of members.
const (
	Promote ChangeKind = iota // a member gets a vote
	Demote                    // a voter stays without one
	Remove                    // a member goes
)

// String is the kind's name.
func (k ChangeKind) String() string { return [...]string{"promote", "demote", "remove"}[k] }

func (Decide) isAction()      {}
func (Ping) isAction()        {}
func (VoterChange) isAction() {}

// String is for logs.
func (p Ping) String() string { return fmt.Sprintf("ping broker %d", p.ID) }

// String is for logs.
func (c VoterChange) String() string { return fmt.Sprintf("%s node %d", c.Kind, c.ID) }

// String is for logs.
func (d Decide) String() string {
	switch c := d.Command.(type) {
	case *metadata.FenceBroker:
		return fmt.Sprintf("fence broker %d: %s", c.ID, d.Why)
	case *metadata.UnfenceBroker:
		return fmt.Sprintf("unfence broker %d: %s", c.ID, d.Why)
	case *metadata.BeginShutdown:
		return fmt.Sprintf("begin shutdown of broker %d: %s", c.ID, d.Why)
	case *metadata.SetFull:
		if c.Full {
			return fmt.Sprintf("broker %d has no room in a log directory: others lead where they can", c.ID)
		}
		return fmt.Sprintf("broker %d has room again", c.ID)
	case *metadata.ElectLeaders:
		return fmt.Sprintf("elect the preferred leaders of %d partitions", len(c.Partitions))
	}
	return fmt.Sprintf("%T", d.Command)
}
