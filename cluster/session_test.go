package cluster

import (
	"context"
	"slices"
	"testing"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// forgetful is a Registrar that registers, and whose answers may be lost.
type forgetful struct {
	image    *meta.Image
	attempts []uint64
	lost     *kafka.Error // the next answer; nil: none is
}

func (f *forgetful) RegisterBroker(_ context.Context, r meta.Registration) (kafka.BrokerEpoch, error) {
	f.attempts = append(f.attempts, r.Attempt)
	epoch := kafka.BrokerEpoch(f.image.Index + 1)
	e := f.image.Edit(f.image.Index + 1)
	f.image.Register(e, &r, epoch)
	f.image = e.Image()
	if f.lost != nil {
		return 0, f.lost
	}
	return epoch, nil
}

// TestRegistrationWhoseAnswerIsLost: a broker that the cluster forgot and that does not
// hear what became of its new registration is the one that counts all the same.
func TestRegistrationWhoseAnswerIsLost(t *testing.T) {
	f := &forgetful{image: meta.Empty("c")}
	s := &session{Registrar: f}
	var told []kafka.BrokerEpoch
	tell := func(e kafka.BrokerEpoch) { told = append(told, e) }
	if epoch, err := s.RegisterBroker(t.Context(), meta.Registration{ID: 7}); err != nil || epoch != 1 || s.Epoch(f.image, tell) != 1 {
		t.Fatal(epoch, err)
	}
	before := f.image
	f.lost = kafka.ErrRequestTimedOut.Err("")
	for range 2 {
		if err := s.Again(t.Context(), tell); err == nil {
			t.Fatal("an answer came")
		}
		if e := s.Epoch(before, tell); e != 1 || len(told) != 0 {
			t.Fatalf("epoch %d before the image tells of another; told %v", e, told)
		}
	}
	if f.attempts[1] == 0 || f.attempts[1] != f.attempts[2] {
		t.Errorf("attempts %v: the cluster would take the second for one that somebody else came between", f.attempts)
	}
	if e := s.Epoch(f.image, tell); e != 3 || !slices.Equal(told, []kafka.BrokerEpoch{3}) {
		t.Errorf("epoch %d, told %v; want 3", e, told)
	}
	if b, _ := f.image.Broker(7); b.Fenced || b.Epoch != 3 {
		t.Errorf("the image has %+v", b)
	}
	f.lost = nil
	if err := s.Again(t.Context(), tell); err != nil || s.Epoch(f.image, tell) != 4 || f.attempts[3] == f.attempts[2] {
		t.Errorf("%v, epoch %d, attempts %v", err, s.Epoch(f.image, tell), f.attempts)
	}
}
