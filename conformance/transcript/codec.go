package transcript

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// clientID names the recorder to the broker unless a step says otherwise.
const clientID = "transcript"

func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

// encode returns the bytes of a step and what will answer them; nil when nothing will.
func (p *player) encode(c *conn, s *step, v int16) ([]byte, *sent, error) {
	c.corr++
	body := strings.Join(s.body, "\n")
	if s.name == "frame" || s.name == "bytes" {
		b, err := rawBytes(body)
		if err != nil {
			return nil, nil, err
		}
		if s.name == "frame" {
			b = append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
		}
		what := &sent{raw: true}
		if as, ok := s.options["answer"]; ok {
			name, ver, _ := strings.Cut(as, "/")
			n, err := strconv.ParseInt(ver, 10, 16)
			if err != nil {
				return nil, nil, fmt.Errorf("option answer=%s: want NAME/VERSION", as)
			}
			what.name, what.version = name, int16(n)
		}
		return b, what, nil
	}
	req, err := p.masks.request(s.name, v, body)
	if err != nil {
		return nil, nil, err
	}
	what := &sent{name: s.name, version: v, corr: c.corr}
	if as, ok := s.options["as"]; ok {
		n, err := strconv.ParseInt(as, 10, 16)
		if err != nil {
			return nil, nil, fmt.Errorf("option as=%s: %w", as, err)
		}
		what.version = int16(n)
	}
	if produce, ok := req.(*kmsg.ProduceRequest); ok && produce.Acks == 0 {
		what = nil
	}
	return formatter(s).AppendRequest(nil, req, c.corr), what, nil
}

func formatter(s *step) *kmsg.RequestFormatter {
	id, ok := s.options["client"]
	switch {
	case !ok:
		id = clientID
	case id == "null":
		return kmsg.NewRequestFormatter()
	case strings.HasPrefix(id, "a*"):
		id = newMasks().expand(id)
	}
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(id))
}

// print decodes and renders an answer. version is the one to print back as $v; -1 is none.
func (p *player) print(what sent, version int16, frame []byte) ([]string, error) {
	if what.name == "" {
		return []string{fmt.Sprintf("0x%x", frame)}, nil
	}
	if len(frame) < 4 {
		return []string{fmt.Sprintf("short: 0x%x", frame)}, nil
	}
	if got := int32(be32(frame)); !what.raw && got != what.corr {
		return []string{fmt.Sprintf("correlation: %d, want %d", got, what.corr)}, nil
	}
	key, ok := keyNamed(what.name)
	if !ok {
		return nil, fmt.Errorf("no request is called %q", what.name)
	}
	resp := kmsg.ResponseForKey(key)
	resp.SetVersion(what.version)
	body := frame[4:]
	if resp.IsFlexible() && key != 18 { // ApiVersions is answered under the oldest header.
		if len(body) == 0 || body[0] != 0 {
			return []string{fmt.Sprintf("header: tags expected: 0x%x", frame)}, nil
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return []string{fmt.Sprintf("undecodable: %v: 0x%x", err, body)}, nil
	}
	if again := resp.AppendTo(nil); !bytes.Equal(again, body) {
		p.warnings = append(p.warnings, fmt.Sprintf("%s v%d: answer of %d bytes encodes to %d: 0x%.200x / 0x%.200x",
			what.name, what.version, len(body), len(again), body, again))
	}
	r := renderer{masks: p.masks, version: version}
	return r.render(resp), nil
}

// rawBytes reads the words of a hand-made frame.
func rawBytes(body string) ([]byte, error) {
	var out []byte
	for _, w := range words(body) {
		kind, arg, _ := strings.Cut(w, ":")
		switch {
		case strings.HasPrefix(w, `"`):
			s, err := strconv.Unquote(w)
			if err != nil {
				return nil, fmt.Errorf("word %s: %w", w, err)
			}
			out = append(out, s...)
		case kind == "str16":
			s, err := strconv.Unquote(arg)
			if err != nil {
				return nil, fmt.Errorf("word %s: %w", w, err)
			}
			out = append(binary.BigEndian.AppendUint16(out, uint16(len(s))), s...)
		case strings.HasPrefix(w, "zero*"):
			n, err := strconv.Atoi(w[len("zero*"):])
			if err != nil || n > frameMax {
				return nil, fmt.Errorf("word %s: no count", w)
			}
			out = append(out, make([]byte, n)...)
		case kind == "i8" || kind == "i16" || kind == "i32" || kind == "i64" || kind == "uv":
			n, err := strconv.ParseInt(arg, 0, 64)
			if err != nil {
				return nil, fmt.Errorf("word %s: %w", w, err)
			}
			switch kind {
			case "i8":
				out = append(out, byte(n))
			case "i16":
				out = binary.BigEndian.AppendUint16(out, uint16(n))
			case "i32":
				out = binary.BigEndian.AppendUint32(out, uint32(n))
			case "i64":
				out = binary.BigEndian.AppendUint64(out, uint64(n))
			default:
				out = binary.AppendUvarint(out, uint64(n))
			}
		default:
			b, err := hex.DecodeString(w)
			if err != nil {
				return nil, fmt.Errorf("word %s: %w", w, err)
			}
			out = append(out, b...)
		}
	}
	return out, nil
}

// words splits at spaces outside quotes and drops what follows a hash sign.
func words(body string) []string {
	var out []string
	for line := range strings.SplitSeq(body, "\n") {
		var w strings.Builder
		quoted := false
		for i, r := range line {
			if r == '"' && (i == 0 || line[i-1] != '\\') {
				quoted = !quoted
			}
			if !quoted && r == '#' {
				break
			}
			if !quoted && r == ' ' {
				if w.Len() > 0 {
					out = append(out, w.String())
					w.Reset()
				}
				continue
			}
			w.WriteRune(r)
		}
		if w.Len() > 0 {
			out = append(out, w.String())
		}
	}
	return out
}
