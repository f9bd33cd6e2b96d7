package wire

import (
	"bytes"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Recorder is a Sink for tests of handlers: it keeps the answer of one request.
type Recorder struct {
	done chan struct{}

	mu       sync.Mutex
	cancel   func()   // guarded by mu
	frame    []byte   // guarded by mu
	err      error    // guarded by mu
	released bool     // guarded by mu
	info     ConnInfo // of the request's connection
}

// Record makes a request of m in its version, as if it had come from a
// connection, and the Recorder of its answer.
func Record(m kmsg.Request, clientID string) (*Request, *Recorder) {
	return RecordBytes(Header{Key: m.Key(), Version: m.GetVersion(), CorrelationID: 1, ClientID: []byte(clientID)}, m.AppendTo(nil))
}

// RecordBytes is Record for a body of any bytes.
func RecordBytes(h Header, body []byte) (*Request, *Recorder) {
	rec := &Recorder{done: make(chan struct{}), info: ConnInfo{ID: 1, Listener: "TEST"}}
	rec.info.SetIdentity(AnonymousIdentity())
	r := new(Request)
	r.Init(h, body, &rec.info, time.Now(), rec, nil)
	return r, rec
}

// Answer implements Sink.
func (rec *Recorder) Answer(resp *Response) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if resp != nil {
		rec.frame, rec.err = resp.flatten()
		resp.Release()
	}
	close(rec.done)
}

// flatten reads the whole frame into memory.
func (resp *Response) flatten() ([]byte, error) {
	var out bytes.Buffer
	err := resp.Pieces(
		func(b []byte) error { out.Write(b); return nil },
		func(b Body) error { _, err := b.WriteTo(&out); return err })
	return out.Bytes(), err
}

// Abort implements Sink.
func (rec *Recorder) Abort(err error) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.err = err
	close(rec.done)
}

// OnCancel implements Sink.
func (rec *Recorder) OnCancel(f func()) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.cancel = f
}

// ReleaseBody implements Sink.
func (rec *Recorder) ReleaseBody() {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.released = true
}

// Cancel does what the connection's death would do.
func (rec *Recorder) Cancel() {
	rec.mu.Lock()
	f := rec.cancel
	rec.cancel = nil
	rec.mu.Unlock()
	if f != nil {
		f()
	}
}

// Done is closed when the request was answered.
func (rec *Recorder) Done() <-chan struct{} { return rec.done }

// Frame waits for the answer and returns its frame with the length field: nil
// when there is none. The error is that of Drop, or of a body.
func (rec *Recorder) Frame() ([]byte, error) {
	<-rec.done
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.frame, rec.err
}

// Message waits for the answer and decodes it into m, whose version must be the
// request's.
func (rec *Recorder) Message(m kmsg.Response) error {
	frame, err := rec.Frame()
	if err != nil {
		return err
	}
	skip := 8
	if responseHeaderTags(m.Key(), m.GetVersion()) {
		skip++
	}
	return m.ReadFrom(frame[skip:])
}

var _ Sink = (*Recorder)(nil)
