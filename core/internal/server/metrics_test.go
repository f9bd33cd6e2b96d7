package server

import (
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/wire"
)

// TestTimeOfEveryAnswerIsMeasured holds that an operator sees how long answers of a
// key take, the wait of a parked one included, and that a dropped request is none.
func TestTimeOfEveryAnswerIsMeasured(t *testing.T) {
	reg := metrics.NewRegistry()
	late := wire.HandlerFunc(func(r *wire.Request) {
		switch string(r.Body) {
		case "park":
			time.AfterFunc(3*time.Second, func() { echo(r) }) // fake time
		case "drop":
			r.Drop(wire.ErrMalformed)
		default:
			echo(r)
		}
	})
	inWorld(t, Options{Metrics: reg, Handler: late}, func(w *world) {
		c := w.dial()
		w.send(c, frame(1, []byte("now")))
		expect(t, c, 1, []byte("now"))
		w.send(c, frame(2, []byte("park")))
		expect(t, c, 2, []byte("park"))
		w.send(c, frame(3, []byte("drop")))
		w.closed(c)
	})
	for _, f := range reg.Snapshot() {
		if f.Name != "mortise_server_request_seconds" {
			continue
		}
		for _, s := range f.Series {
			want := uint64(0)
			if s.Labels[0].Value == keyName(keyEcho) {
				want = 2
				if s.Sum != 3 {
					t.Errorf("%s took %v s together, want 3", s.Labels[0].Value, s.Sum)
				}
			}
			if s.Count != want {
				t.Errorf("%s: %d answers, want %d", s.Labels[0].Value, s.Count, want)
			}
		}
		if len(f.Series) != 2 {
			t.Errorf("%d series, want one for each key that is answered", len(f.Series))
		}
		return
	}
	t.Error("nothing is measured")
}
