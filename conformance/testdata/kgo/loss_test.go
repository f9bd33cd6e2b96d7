package kgo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// This file is put beside kgo's own tests by kgo.sh, with calls of it in TestGroupETL:
// what the loss of a broker makes a client tell its user is printed there, and counted
// by kgo.sh, and the test goes on. A record that is read again because its offset was not
// committed is passed over; each must still be read, and be written on, once.

// lossTold prints what is counted. It stands for itself in a line.
func lossTold(err error) { fmt.Printf("    told of a loss: %v\n", err) }

// lossOnly reports whether the loss of a broker explains an error, and then prints it:
// the connection is gone or refused, the coordinator is gone or new, or it does not know
// a member that was about to join, or its generation.
func lossOnly(err error) bool {
	var network net.Error
	explained := errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) ||
		isRetryableBrokerErr(err)
	for _, code := range []error{kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress, kerr.StaleMemberEpoch, kerr.FencedMemberEpoch,
		kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.RequestTimedOut} {
		explained = explained || errors.Is(err, code)
	}
	if explained {
		lossTold(err)
	}
	return explained
}

// lossRest are the errors of a poll that no loss explains.
func lossRest(all []FetchError) (rest []FetchError) {
	for _, e := range all {
		if !lossOnly(e.Err) {
			rest = append(rest, e)
		}
	}
	return rest
}

// lossAgain says whether a topic is to be asked for again: a cluster that lacks a node
// can't give it three replicas.
func lossAgain(err error, began time.Time) bool {
	if !errors.Is(err, kerr.InvalidReplicationFactor) || time.Since(began) > time.Minute {
		return false
	}
	lossTold(err)
	time.Sleep(time.Second)
	return true
}
