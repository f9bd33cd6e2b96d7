package peer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
)

func TestFramesComeBack(t *testing.T) {
	q := request{id: 1 << 40, kind: KindJoin, timeout: 1500 * time.Microsecond, body: []byte("body")}
	got, err := readRequest(bytes.NewReader(q.encode()))
	if err != nil || got.id != q.id || got.kind != q.kind || got.timeout != 2*time.Millisecond || string(got.body) != "body" {
		t.Errorf("%+v %v, want %+v with 2 ms", got, err, q)
	}
	a := answer{id: 7, code: kafka.ErrUnknownServerError, body: []byte("text")}
	back, err := readAnswer(bytes.NewReader(a.encode()))
	if err != nil || back.id != a.id || back.code != a.code || string(back.body) != "text" {
		t.Errorf("%+v %v, want %+v", back, err, a)
	}
}

func TestHelloComesBack(t *testing.T) {
	h := hello{purpose: purposeCalls, from: 3, to: kafka.NoBroker, cluster: "c", address: "host:1", instance: Instance{9}, nonce: nonce{7}}
	if got, err := readHello(bytes.NewReader(h.encode())); err != nil || got != h {
		t.Errorf("%+v %v, want %+v", got, err, h)
	}
	w := welcome{status: statusRefused, node: 4, cluster: "d", instance: Instance{8}, nonce: nonce{1}, proof: proof{2}, reason: "why"}
	if got, err := readWelcome(bytes.NewReader(w.encode())); err != nil || got != w {
		t.Errorf("%+v %v, want %+v", got, err, w)
	}
}

// A length alone must not cost memory.
func TestLengthAllocatesNothing(t *testing.T) {
	head := binary.BigEndian.AppendUint32(nil, frameMax)
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := readRequest(bytes.NewReader(head)); !errors.Is(err, io.ErrUnexpectedEOF) {
				b.Fatal(err)
			}
		}
	})
	if got.AllocedBytesPerOp() > 64<<10 {
		t.Errorf("%d bytes for a length of %d, want few", got.AllocedBytesPerOp(), frameMax)
	}
	for _, n := range []uint32{0, requestHead - 1, frameMax + 1, 1<<32 - 1} {
		if _, err := readRequest(bytes.NewReader(binary.BigEndian.AppendUint32(nil, n))); !errors.Is(err, errMalformed) {
			t.Errorf("a frame of %d bytes: %v, want a refusal", n, err)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add((&request{id: 1, kind: 2, body: []byte("b")}).encode())
	f.Add((&answer{id: 1, code: 41, body: []byte("b")}).encode())
	f.Add((&hello{purpose: 1, cluster: "c"}).encode())
	f.Add((&welcome{reason: "r"}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if q, err := readRequest(bytes.NewReader(b)); err == nil && !bytes.HasPrefix(b, q.encode()) {
			t.Errorf("request %+v encodes otherwise", q)
		}
		if a, err := readAnswer(bytes.NewReader(b)); err == nil && !bytes.HasPrefix(b, a.encode()) {
			t.Errorf("answer %+v encodes otherwise", a)
		}
		if h, err := readHello(bytes.NewReader(b)); err == nil && !bytes.HasPrefix(b, h.encode()) {
			t.Errorf("hello %+v encodes otherwise", h)
		}
		if w, err := readWelcome(bytes.NewReader(b)); err == nil && !bytes.HasPrefix(b, w.encode()) {
			t.Errorf("welcome %+v encodes otherwise", w)
		}
	})
}
