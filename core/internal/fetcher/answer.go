package fetcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/mortisemq/mortise/core/internal/partition"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
	"github.com/mortisemq/mortise/core/wire"
)

// Handle takes the answer to the oldest request that is out: a frame without its
// length, which is the caller's again afterwards. An error, which wraps ErrAnswer, says
// that the connection is of no use any more: end it and call Disconnected. What is
// wrong with one partition costs that one only.
//
// Hot: per answer. 0 allocs without faults; one append for each partition with records,
// and one wait for the disk, if it must have them.
func (s *Session) Handle(now time.Time, frame []byte) error {
	if len(s.flights) == 0 {
		return fmt.Errorf("%w: %d bytes that nobody asked for", ErrAnswer, len(frame))
	}
	f := s.flights[0]
	s.flights = s.flights[:copy(s.flights, s.flights[1:])]
	var err error
	if f.what == fetch {
		err = s.fetched(now, f, frame)
	} else {
		err = s.asked(now, f, frame)
	}
	if err != nil {
		s.o.Stats.Errors.Add(1)
		return fmt.Errorf("%w %d: %w", ErrAnswer, s.o.Leader, err)
	}
	return nil
}

// mismatch says that an answer is to another request.
func mismatch(f flight, got int32) error {
	if got == correlation(f.number) {
		return nil
	}
	return fmt.Errorf("correlation id %d, want %d", got, correlation(f.number))
}

// fetched takes the answer to a Fetch.
func (s *Session) fetched(now time.Time, f flight, frame []byte) error {
	a, err := wire.OpenFetch(frame)
	if err = errors.Join(err, mismatch(f, a.CorrelationID)); err != nil {
		return err
	}
	if f.generation != s.generation {
		return nil // of a session that is over
	}
	if a.Err != kafka.None {
		s.refused(now, a.Err)
		return nil
	}
	s.refusals = 0
	if f.full {
		s.id, s.epoch = a.SessionID, 0
		if a.SessionID != 0 {
			s.epoch = 1
		}
	}
	var p wire.FetchedPartition
	for a.Next(&p) {
		r := s.parts[key{p.Topic, p.Index}]
		if r != nil && r.known && !r.dirty && r.in <= f.number {
			s.take(now, r, &p)
		}
	}
	s.settle(now)
	return a.Malformed()
}

// settle waits until the disk has what was appended of an answer, wherever it must have
// it before the leader hears of it: for all partitions at once.
func (s *Session) settle(now time.Time) {
	for n, f := range s.owed {
		s.owed[n] = nil
		if err := f.disk.Wait(); err != nil {
			s.changed(now, f, err)
		}
	}
	s.owed = s.owed[:0]
}

// refused begins a new session after an error for a whole request. That the leader
// does not know the session is no fault: it was restarted, or made room for others.
func (s *Session) refused(now time.Time, code kafka.ErrorCode) {
	s.o.Stats.Errors.Add(1)
	switch code {
	case kafka.ErrFetchSessionIDNotFound:
		s.restart(0)
	case kafka.ErrInvalidFetchSessionEpoch, kafka.ErrFetchSessionTopicIDError:
		s.restart(s.id)
	default:
		s.refusals++
		s.o.Log.Log(context.Background(), levelOf(s.refusals), "a leader refuses fetches", "error", code.String())
		s.restart(s.id)
		for _, f := range s.all {
			if f.phase == fetching {
				s.rest(f, now, false)
			}
		}
	}
}

// take takes one partition of an answer.
func (s *Session) take(now time.Time, f *follower, p *wire.FetchedPartition) {
	role := f.sent.CurrentLeaderEpoch
	switch p.Err {
	case kafka.None:
		if p.Diverging.Epoch != kafka.NoLeaderEpoch {
			s.log(f).Info("log parts from the leader's; truncating", "end", f.sent.FetchOffset, "epoch", f.sent.LastFetchedEpoch,
				"leader_epoch", p.Diverging.Epoch, "leader_epoch_end", p.Diverging.EndOffset)
			s.changed(now, f, f.replica.TruncateForDivergence(role, p.Diverging.Epoch, p.Diverging.EndOffset))
			return
		}
		s.append(now, f, p)
	case kafka.ErrOffsetOutOfRange:
		s.enter(f, lost)
		if !slices.Contains(s.asking, f) { // few are, and rarely
			s.asking = append(s.asking, f)
		}
	case kafka.ErrFencedLeaderEpoch:
		if _, _, is := f.replica.FetchState(); is != role {
			s.touch(f) // there is a new role already
			return
		}
		s.log(f).Debug("a newer leader epoch; waiting for the cluster's picture of it", "epoch", role)
		s.enter(f, failed)
	case kafka.ErrUnknownLeaderEpoch, kafka.ErrNotLeaderOrFollower, kafka.ErrUnknownTopicID, kafka.ErrUnknownTopicOrPartition:
		s.rest(f, now, true) // the leader has an older picture of the cluster, or we have
	default:
		s.o.Stats.Errors.Add(1)
		s.complain(f, slog.LevelWarn, "the leader can't give what it has", "error", p.Err.String())
		s.rest(f, now, false)
	}
}

// append appends what a leader gave.
func (s *Session) append(now time.Time, f *follower, p *wire.FetchedPartition) {
	records := whole(p.Records)
	if len(records) == 0 && len(p.Records) > 0 {
		s.changed(now, f, fmt.Errorf("%w: %d bytes", errNoBatch, len(p.Records)))
		return
	}
	end, err := f.replica.AppendAsFollower(records, f.sent.CurrentLeaderEpoch, p.HighWatermark, p.LogStart, &f.disk)
	if f.disk.Out() {
		s.owed = append(s.owed, f)
	}
	if err != nil {
		s.changed(now, f, err)
		return
	}
	if len(records) > 0 && end == f.sent.FetchOffset {
		s.rest(f, now, true) // all are of a later epoch, whose role is on its way (KAFKA-18723)
		return
	}
	f.tries = 0
	s.setLag(f, int64(max(p.HighWatermark-end, 0)))
	if end != f.sent.FetchOffset || f.replica.StartOffset() != f.sent.LogStartOffset {
		s.touch(f)
	}
	if len(records) > 0 {
		s.o.Stats.Bytes.Add(uint64(len(records)))
		s.took(f, len(records))
	}
}

// changed goes on after an append or a truncation: from where the log ends now, later,
// or not at all.
func (s *Session) changed(now time.Time, f *follower, err error) {
	var refused *kafka.Error
	switch {
	case err == nil:
		s.touch(f)
	case errors.Is(err, partition.ErrStaleRole): // another role by now, which we may hear of in a moment
		s.rest(f, now, true)
	case errors.As(err, &refused) && refused.Code == kafka.ErrKafkaStorageError: // its directory said why
		s.o.Stats.Errors.Add(1)
		if f.replica.Offline() == nil { // it is full, which passes
			s.rest(f, now, false)
			return
		}
		s.enter(f, failed)
	default:
		s.o.Stats.Errors.Add(1)
		s.complain(f, slog.LevelError, "what the leader gave can't be appended", "offset", f.sent.FetchOffset, "err", err)
		s.rest(f, now, false)
	}
}

// whole is b without what follows its last whole batch: a leader may cut anywhere.
func whole(b []byte) []byte {
	n := 0
	for {
		size, err := record.Size(b[n:])
		if err != nil || size > len(b)-n {
			return b[:n]
		}
		n += size
	}
}
