package fetcher

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// TestInboxCutsFrames whatever their sizes, and however they arrive.
func TestInboxCutsFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	var want [][]byte
	var stream []byte
	for _, size := range []int{0, 1, 5, inboxSize - 5, inboxSize - 4, inboxSize - 3, 3 * inboxSize, 7, 300_000, 2, 1 << 20, 100} {
		frame := make([]byte, size)
		for i := range frame {
			frame[i] = byte(r.Uint32())
		}
		want = append(want, frame)
		stream = append(binary.BigEndian.AppendUint32(stream, uint32(size)), frame...)
	}
	for _, most := range []int{1, 7, 4096, 1 << 22} { // bytes that a read gives
		var b inbox
		from := &pieces{r: bytes.NewReader(stream), rand: r, most: most}
		if most == 1 {
			from.most = 1000 // a byte each would take long
		}
		for n, frame := range want {
			got := next(t, &b, from)
			if !bytes.Equal(got, frame) {
				t.Fatalf("reads of %d: frame %d has %d bytes, want %d", most, n, len(got), len(frame))
			}
		}
		if b.from != b.to {
			t.Errorf("reads of %d: %d bytes are left", most, b.to-b.from)
		}
	}
}

// next reads the next frame.
func next(t *testing.T, b *inbox, from io.Reader) []byte {
	t.Helper()
	for {
		f, err := b.frame(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		if f != nil {
			return f
		}
		if err := b.read(from, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
}

// wholeFrames gives a frame a read, as far as there is room, and counts the reads.
type wholeFrames struct {
	frame []byte
	at    int
	reads int
}

func (w *wholeFrames) Read(b []byte) (int, error) {
	n := copy(b, w.frame[w.at:])
	w.at = (w.at + n) % len(w.frame)
	w.reads++
	return n, nil
}

// TestLargeAnswersAreReadInPlace: while answers are large, one that has arrived takes one
// read and no copy; the buffer is given back after a small one, and a huge one at once.
func TestLargeAnswersAreReadInPlace(t *testing.T) {
	var b inbox
	huge := make([]byte, 2*inboxKept)
	large.Put(&huge) // of another link, whose answers were huge
	frames := func(size, n int) (reads int) {
		w := &wholeFrames{frame: binary.BigEndian.AppendUint32(nil, uint32(size))}
		w.frame = append(w.frame, make([]byte, size)...)
		for range n {
			next(t, &b, w)
		}
		return w.reads
	}
	if reads := frames(3*inboxSize, 10); reads != 11 {
		t.Errorf("%d reads for ten large answers, want one more than answers", reads)
	}
	if b.big == nil {
		t.Fatal("the buffer is not kept")
	}
	if frames(100, 2); b.big != nil {
		t.Error("an idle link keeps a large buffer")
	}
	if frames(inboxKept, 1); b.big == nil || b.makeRoom(1<<20) != nil || b.big != nil {
		t.Error("a huge buffer is kept")
	}
}

// pieces gives at most so many bytes a read.
type pieces struct {
	r    io.Reader
	rand *rand.Rand
	most int
}

func (p *pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), 1+p.rand.IntN(p.most))]) }

// FuzzInbox: no stream makes it panic, or make room beyond the bound.
func FuzzInbox(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 7, 0, 0, 0, 0}, uint16(100))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, uint16(100))
	f.Add([]byte{0, 1, 0, 1}, uint16(65535))
	f.Fuzz(func(t *testing.T, stream []byte, most uint16) {
		var b inbox
		from := bytes.NewReader(stream)
		for {
			frame, err := b.frame(int(most))
			if len(frame) > int(most) || err != nil && !errors.Is(err, ErrAnswer) {
				t.Fatalf("%d bytes, %v", len(frame), err)
			}
			if err != nil {
				return
			}
			if frame == nil && b.read(from, int(most)) != nil {
				return
			}
			if len(b.buf) > max(inboxSize, 2*(int(most)+4)) {
				t.Fatalf("room for %d bytes, bound %d", len(b.buf), most)
			}
		}
	})
}
