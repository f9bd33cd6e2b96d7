package reassignment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// lookEvery is how often Wait asks how far moves have come.
const lookEvery = 500 * time.Millisecond

// asksMax bounds the partitions of one request.
const asksMax = 5000

// Pending is a partition that is being moved.
type Pending struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Replicas  []int32 `json:"replicas"` // with those that come and go
	Adding    []int32 `json:"adding"`
	Removing  []int32 `json:"removing"`
}

// Partitions asks a cluster where all partitions are, internal topics too. Those of
// which the cluster tells an error are left out.
func Partitions(ctx context.Context, admin *kadm.Client) ([]Partition, error) {
	topics, err := admin.ListTopicsWithInternal(ctx)
	if err != nil {
		return nil, err
	}
	var all []Partition
	for _, t := range topics.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			all = append(all, Partition{p.Topic, p.Partition, p.Replicas})
		}
	}
	return all, nil
}

// Start has a cluster begin the moves, and gives those that it began. Each error names
// the partition of another.
func Start(ctx context.Context, admin *kadm.Client, moves []Move) (began []Move, err error) {
	return alter(ctx, admin, moves, func(m *Move) []int32 { return m.To })
}

// Cancel takes back the moves that are under way. One that has ended meanwhile is no
// error.
func Cancel(ctx context.Context, admin *kadm.Client, pending []Pending) error {
	var moves []Move
	for _, p := range pending {
		moves = append(moves, Move{Topic: p.Topic, Partition: p.Partition})
	}
	_, err := alter(ctx, admin, moves, func(*Move) []int32 { return nil })
	return err
}

// alter sends moves, asksMax in each request, and gives those that were taken; to is nil
// to cancel one.
func alter(ctx context.Context, admin *kadm.Client, moves []Move, to func(*Move) []int32) (taken []Move, err error) {
	var errs []error
	for some := range slices.Chunk(moves, asksMax) {
		var q kadm.AlterPartitionAssignmentsReq
		for i := range some {
			q.Assign(some[i].Topic, some[i].Partition, to(&some[i]))
		}
		answers, err := admin.AlterPartitionAssignments(ctx, q)
		if err != nil {
			return taken, errors.Join(append(errs, err)...)
		}
		some, refused := sorted(some, answers)
		taken, errs = append(taken, some...), append(errs, refused...)
	}
	return taken, errors.Join(errs...)
}

// sorted sorts moves by the answers: those that were taken, and why the others were not.
func sorted(moves []Move, answers kadm.AlterPartitionAssignmentsResponses) (taken []Move, refused []error) {
	for _, m := range moves {
		switch a, ok := answers[m.Topic][m.Partition]; {
		case !ok:
			refused = append(refused, fmt.Errorf("%s-%d: the answer does not tell of it", m.Topic, m.Partition))
		case a.Err == nil || errors.Is(a.Err, kerr.NoReassignmentInProgress):
			taken = append(taken, m)
		default:
			refused = append(refused, fmt.Errorf("%s-%d: %w", m.Topic, m.Partition, told(a.Err, a.ErrMessage)))
		}
	}
	return taken, refused
}

// told is an error with the words of the broker.
func told(err error, message string) error {
	if message == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, message)
}

// List are the partitions that are being moved, by name and number. (kadm asks for
// nothing when it is given no topics.)
func List(ctx context.Context, cluster kmsg.Requestor) ([]Pending, error) {
	answer, err := kmsg.NewPtrListPartitionReassignmentsRequest().RequestWith(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return nil, told(err, text(answer.ErrorMessage))
	}
	pending := []Pending{}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			pending = append(pending, Pending{t.Topic, p.Partition, p.Replicas, p.AddingReplicas, p.RemovingReplicas})
		}
	}
	slices.SortFunc(pending, func(a, b Pending) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return pending, nil
}

// Wait waits until none of the moves is under way and calls progress with the number of
// those that are, each time that it has asked.
func Wait(ctx context.Context, cluster kmsg.Requestor, moves []Move, progress func(left int)) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		pending, err := List(ctx, cluster)
		if err != nil {
			return err
		}
		left := among(moves, pending)
		progress(left)
		if left == 0 {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// among counts the moves that are pending.
func among(moves []Move, pending []Pending) (n int) {
	for _, m := range moves {
		_, found := slices.BinarySearchFunc(pending, m, func(p Pending, m Move) int {
			return cmp.Or(cmp.Compare(p.Topic, m.Topic), cmp.Compare(p.Partition, m.Partition))
		})
		if found {
			n++
		}
	}
	return n
}
