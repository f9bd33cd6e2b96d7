package coordinator

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/commitlog"
	"github.com/mortisemq/mortise/core/internal/group"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/record"
)

// errEnded stops the loading of a shard that is not wanted any more.
var errEnded = errors.New("not wanted any more")

// begin loads the shard: at once when there is nothing to read, else on a goroutine
// of its own. Caller holds Coordinator.mu.
func (s *shard) begin() {
	log := s.part.Log()
	end := log.EndOffset()
	if log.StartOffset() == end {
		s.loaded(end, nil)
		return
	}
	s.c.running.Go(func() {
		s.c.loading <- struct{}{}
		begun := s.c.o.Clock.Now()
		err := s.load(log, end)
		<-s.c.loading
		s.c.metrics.loads.Observe(s.c.o.Clock.Now().Sub(begun).Seconds())
		s.loaded(end, err)
		s.c.mu.Lock()
		img := s.c.image
		s.c.mu.Unlock()
		if img != nil {
			s.dropDeletedTopics(nil, img)
		}
	})
}

// loaded ends the loading of what is below end. Not all of that need be committed: a
// new leader's high watermark follows when its followers have fetched.
func (s *shard) loaded(end kafka.Offset, err error) {
	s.mu.Lock()
	if s.status != statusLoading {
		s.mu.Unlock()
		return
	}
	if err != nil {
		s.status = statusFailed
		s.mu.Unlock()
		s.c.o.Log.Error("groups not loaded; their clients find no coordinator", "partition", s.part.TopicPartition().String(), "err", err)
		return
	}
	s.status = statusActive
	now := s.now()
	if img := s.c.current.Load(); img != nil {
		s.state.SetImage(img, func() bool { return true })
	}
	behind := s.part.HighWatermark() < end
	if behind {
		s.hold(now, end, nil)
	}
	d := s.settle(now, s.state.Loaded(now))
	if behind && d.await == kafka.NoOffset {
		d.await = end
	}
	s.arm(now)
	s.mu.Unlock()
	s.finish(d)
}

// load replays the partition up to end.
func (s *shard) load(log *commitlog.Log, end kafka.Offset) error {
	from := log.StartOffset()
	var piece bytes.Buffer
	for from < end {
		if s.ended() {
			return errEnded
		}
		got, err := log.Read(from, commitlog.ReadOptions{MaxBytes: loadBytes, Upper: end, MinOne: true})
		if now := s.part.Log(); errors.Is(err, commitlog.ErrClosed) && now != log { // it moved to another directory
			log = now
			continue
		}
		if err != nil {
			return err
		}
		if got.Range == nil {
			return nil
		}
		piece.Reset()
		_, err = got.Range.WriteTo(&piece)
		got.Range.Release()
		if err != nil {
			return fmt.Errorf("read at offset %d: %w", from, err)
		}
		if err := s.replay(piece.Bytes()); err != nil {
			return err
		}
		from = got.Next
	}
	return nil
}

// ended reports whether nobody wants the shard any more.
func (s *shard) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status == statusEnded
}

// replay applies whole batches.
func (s *shard) replay(piece []byte) error {
	for len(piece) > 0 {
		b, rest, err := record.Next(piece)
		if err != nil {
			return err
		}
		piece = rest
		if b.Control() {
			continue
		}
		it := b.Records(record.DecompressLimits{})
		for it.Next() {
			r := it.Record()
			if err := s.state.Replay(r.Key, r.Value); err != nil {
				s.skip(r.Offset, err)
			}
		}
		err = it.Err()
		it.Close()
		if err != nil {
			return fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), err)
		}
	}
	return nil
}

// skip notes a record that was passed over. Kinds that are not known are counted
// only: there may be very many.
func (s *shard) skip(at kafka.Offset, err error) {
	s.c.metrics.skipped.Add(1)
	if !errors.Is(err, group.ErrForeign) {
		s.c.o.Log.Warn("record passed over", "partition", s.part.TopicPartition().String(), "offset", int64(at), "err", err)
	}
}
