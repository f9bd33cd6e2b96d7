package reassignment

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// What was refused does not move, and what nobody answered for did not begin.
func TestMovesAreSortedByTheirAnswers(t *testing.T) {
	moves := []Move{{Topic: "t", Partition: 0}, {Topic: "t", Partition: 1}, {Topic: "t", Partition: 2}, {Topic: "t", Partition: 3}}
	taken, refused := sorted(moves, kadm.AlterPartitionAssignmentsResponses{"t": {
		0: {}, 1: {Err: kerr.InvalidReplicaAssignment, ErrMessage: "no such broker"}, 2: {Err: kerr.NoReassignmentInProgress},
	}})
	if len(taken) != 2 || taken[0].Partition != 0 || taken[1].Partition != 2 {
		t.Errorf("taken are %+v, want 0 and 2", taken)
	}
	if len(refused) != 2 || !errors.Is(refused[0], kerr.InvalidReplicaAssignment) || refused[1].Error() != "t-3: the answer does not tell of it" {
		t.Errorf("refused are %v, want 1 and 3", refused)
	}
}
