package transcript

import (
	"encoding/binary"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fake is a broker that answers Metadata with a given cluster, ApiVersions with nothing and closes on the rest.
type fake struct {
	host string
	id   byte // Of the only topic.
}

// start serves on a loopback port until the test ends.
func (f fake) start(t *testing.T) Dialer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { f.serve(c) })
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
}

func (f fake) serve(nc net.Conn) {
	defer nc.Close()
	c := &conn{Conn: nc}
	for {
		b, err := c.readFrame()
		if err != nil {
			return
		}
		key, version := int16(binary.BigEndian.Uint16(b)), int16(binary.BigEndian.Uint16(b[2:]))
		out := append([]byte{0, 0, 0, 0}, b[4:8]...)
		switch key {
		case 0:
			continue // As with acks=0.
		case 3:
			m := kmsg.NewPtrMetadataResponse()
			m.SetVersion(version)
			m.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: f.host, Port: 9}}
			t := kmsg.NewMetadataResponseTopic()
			t.Topic, t.TopicID = kmsg.StringPtr("a"), [16]byte{1, 15: f.id}
			m.Topics = append(m.Topics, t)
			if m.IsFlexible() {
				out = append(out, 0)
			}
			out = m.AppendTo(out)
		case 18:
			a := kmsg.NewPtrApiVersionsResponse()
			a.SetVersion(version)
			out = a.AppendTo(out)
		default:
			return
		}
		binary.BigEndian.PutUint32(out, uint32(len(out)-4))
		if c.write(out) != nil {
			return
		}
	}
}

const conversation = `# A conversation with every kind of answer.
> Metadata v9..12
  {Topics: null}

> Metadata v12
  {Topics: [{Topic: null, TopicID: $topicid1}]}

> Produce v9
  {Acks: 0}

> Fetch v4
  {}

> Metadata v1 send
  {}
> ApiVersions v0 send
> await
> await

> frame answer=Metadata/1
  i16:3 i16:1 i32:7 i16:-1 i32:0
`

func record(t *testing.T, d Dialer) *File {
	t.Helper()
	f, err := Parse("conversation", []byte(conversation))
	if err != nil {
		t.Fatal(err)
	}
	warnings, err := Record(f, d)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("Record: error %v, warnings %q", err, warnings)
	}
	return f
}

func TestRecordShowsEveryKindOfAnswer(t *testing.T) {
	text := string(record(t, fake{host: "here", id: 1}.start(t)).Format())
	for _, want := range []string{
		"< v9\n", "< v10..12\n", "TopicID: $topicid1", "Host: $host, Port: $port", "< v9 none\n", "< v4 closed\n", "< v1 sent\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("recorded text lacks %q:\n%s", want, text)
		}
	}
}

func TestReplayMasksWhatMayDiffer(t *testing.T) {
	f := record(t, fake{host: "here", id: 1}.start(t))
	bad, err := Replay(f, fake{host: "elsewhere", id: 2}.start(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range bad {
		t.Error(m)
	}
}

func TestReplayNamesWhatDiffers(t *testing.T) {
	f := record(t, fake{host: "here", id: 1}.start(t))
	f.blocks[1].step.answers[0].lines[0] = "Brokers: []"
	bad, err := Replay(f, fake{host: "here", id: 1}.start(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(bad) != 1 || bad[0].Line != 2 || bad[0].From != 9 || bad[0].To != 9 || !strings.Contains(bad[0].String(), "- Brokers: []") {
		t.Errorf("got %v, want one mismatch at line 2 of v9", bad)
	}
}

func TestRawBytes(t *testing.T) {
	got, err := rawBytes("i16:-1 00ff uv:300 \"a b\" # comment\nstr16:\"x\" zero*2")
	if want := "\xff\xff\x00\xff\xac\x02a b\x00\x01x\x00\x00"; err != nil || string(got) != want {
		t.Errorf("rawBytes: got %q, error %v, want %q", got, err, want)
	}
}
