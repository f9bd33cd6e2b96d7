package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestHeaderRoundTrip(t *testing.T) {
	for _, h := range []Header{
		{Key: 0, Version: 3, CorrelationID: 7, ClientID: []byte("client")},
		{Key: 0, Version: 9, CorrelationID: -1, ClientID: []byte{}},
		{Key: 18, Version: 99, CorrelationID: 1, ClientID: nil},
		{Key: 17, Version: 1, CorrelationID: 1, ClientID: bytes.Repeat([]byte("x"), 32<<10-1)},
	} {
		frame := append(AppendHeader(nil, &h), "body"...)
		var got Header
		body, err := DecodeHeader(&got, frame)
		if err != nil {
			t.Fatalf("%d v%d: %v", h.Key, h.Version, err)
		}
		if string(body) != "body" || got.CorrelationID != h.CorrelationID || !bytes.Equal(got.ClientID, h.ClientID) || (got.ClientID == nil) != (h.ClientID == nil) {
			t.Errorf("got %+v body %q, want %+v", got, body, h)
		}
	}
}

// kmsg's client formatter writes what clients write.
func TestHeaderAgreesWithKmsg(t *testing.T) {
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("me"))
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		req := kmsg.RequestForKey(key)
		if req == nil || key == 7 { // ControlledShutdown v0 had a header of its own
			continue
		}
		for v := int16(0); v <= req.MaxVersion(); v++ {
			req.SetVersion(v)
			frame := f.AppendRequest(nil, req, 42)[4:]
			var h Header
			body, err := DecodeHeader(&h, frame)
			if err != nil {
				t.Fatalf("%s v%d: %v", kmsg.NameForKey(key), v, err)
			}
			if h.Key != key || h.Version != v || h.CorrelationID != 42 || string(h.ClientID) != "me" || !bytes.Equal(body, req.AppendTo(nil)) {
				t.Errorf("%s v%d: got %+v and %d bytes of body", kmsg.NameForKey(key), v, h, len(body))
			}
			if again := AppendHeader(nil, &h); !bytes.Equal(again, frame[:len(frame)-len(body)]) {
				t.Errorf("%s v%d: header encodes to %x, kmsg to %x", kmsg.NameForKey(key), v, again, frame[:len(frame)-len(body)])
			}
		}
	}
}

func TestHeaderSkipsTags(t *testing.T) {
	frame := AppendHeader(nil, &Header{Key: 0, Version: 9, ClientID: []byte("c")})
	frame = append(frame[:len(frame)-1], 2, 5, 3, 'a', 'b', 'c', 200, 1, 0) // tags 5 and 200
	frame = append(frame, "body"...)
	var h Header
	body, err := DecodeHeader(&h, frame)
	if err != nil || string(body) != "body" {
		t.Fatalf("body %q, error %v", body, err)
	}
}

func TestHeaderRefusesWhatDoesNotFit(t *testing.T) {
	whole := AppendHeader(nil, &Header{Key: 0, Version: 9, ClientID: []byte("client")})
	for n := range whole {
		var h Header
		if _, err := DecodeHeader(&h, whole[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d of %d bytes: error %v, want ErrMalformed", n, len(whole), err)
		}
	}
	var h Header
	_, err := DecodeHeader(&h, []byte{0, 0, 0, 3, 0, 0, 0, 1, 0x7f, 0xff, 'x'})
	if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "key 0 version 3") {
		t.Errorf("client id longer than the frame: %v", err)
	}
}

func TestDecodeHeaderDoesNotAllocate(t *testing.T) {
	frame := AppendHeader(nil, &Header{Key: 0, Version: 9, ClientID: []byte("client")})
	var h Header
	if n := testing.AllocsPerRun(100, func() { DecodeHeader(&h, frame) }); n != 0 {
		t.Errorf("%v allocs, want 0", n)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte{0, 0, 0, 9, 0, 0, 0, 1, 0, 1, 'x', 0})
	f.Add([]byte{0, 18, 0, 99, 0, 0, 0, 1, 0xff, 0xff, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, frame []byte) {
		var h Header
		body, err := DecodeHeader(&h, frame)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error %v is not ErrMalformed", err)
			}
			return
		}
		if len(body) > len(frame)-minHeaderForFuzz {
			t.Fatalf("body of %d bytes from a frame of %d", len(body), len(frame))
		}
	})
}

// minHeaderForFuzz is a header with a null client id.
const minHeaderForFuzz = 10
