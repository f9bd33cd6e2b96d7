package fetcher

import (
	"bytes"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/vnet"
	"github.com/mortisemq/mortise/core/wire"
)

// leader is the other end of a link, by hand.
type leader struct {
	*testing.T
	listener net.Listener
	conn     net.Conn
}

// newWorld makes a manager of broker 2 and broker 1, its leader.
func newWorld(t *testing.T, user string) (*Manager, *leader) {
	mem := vnet.NewMem(1)
	l, err := mem.Host("one").Listen("one:9092")
	if err != nil {
		t.Fatal(err)
	}
	m := NewManager(ManagerOptions{Self: 2, Net: mem.Host("two"), Clock: clock.System{},
		Address:    func(kafka.BrokerID) (string, bool) { return "one:9092", true },
		Credential: func() (string, string) { return user, "secret" },
		Config: func() config.Replication {
			return config.Replication{Fetchers: 1, FetchMaxBytes: 1 << 20, FetchResponseMaxBytes: 10 << 20, FetchMinBytes: 1,
				FetchWaitMaxMS: 500, FetchBackoffMS: 1000, SocketTimeoutMS: 30_000}
		},
		RequestMaxBytes: func() int { return 100 << 20 }, Log: slog.New(slog.DiscardHandler), Metrics: metrics.NewRegistry()})
	t.Cleanup(func() {
		m.Close()
		_ = l.Close()
	})
	return m, &leader{T: t, listener: l}
}

// accept takes a connection.
func (l *leader) accept() {
	l.Helper()
	var err error
	if l.conn, err = l.listener.Accept(); err != nil {
		l.Fatal(err)
	}
}

// request reads one request.
func (l *leader) request() (h wire.Header, body []byte) {
	l.Helper()
	var head [4]byte
	if _, err := io.ReadFull(l.conn, head[:]); err != nil {
		l.Fatal(err)
	}
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(l.conn, frame); err != nil {
		l.Fatal(err)
	}
	body, err := wire.DecodeHeader(&h, frame)
	if err != nil {
		l.Fatal(err)
	}
	return h, body
}

// fetch reads a Fetch.
func (l *leader) fetch() (wire.Header, *wire.FetchRequest) {
	l.Helper()
	h, body := l.request()
	var q wire.FetchRequest
	if err := wire.DecodeFetch(&q, wire.FollowerVersion, body); h.Key != wire.KeyFetch || err != nil {
		l.Fatalf("key %d: %v", h.Key, err)
	}
	return h, &q
}

// send sends the body of an answer in pieces.
func (l *leader) send(h wire.Header, tags bool, body []byte) {
	l.Helper()
	frame := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(h.CorrelationID))
	if tags {
		frame = append(frame, 0)
	}
	frame = append(frame, body...)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	for len(frame) > 0 {
		n := min(len(frame), 1+len(frame)/2)
		if _, err := l.conn.Write(frame[:n]); err != nil {
			l.Fatal(err)
		}
		frame = frame[n:]
	}
}

// answer answers a fetch of partition 0 of topicA; nil records: it has nothing new.
func (l *leader) answer(h wire.Header, records []byte, hw int64) {
	l.Helper()
	r := kmsg.NewPtrFetchResponse()
	r.Version, r.SessionID = wire.FollowerVersion, 9
	if records != nil {
		t, p := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		t.TopicID, p.RecordBatches, p.HighWatermark = topicA, records, hw
		t.Partitions = append(t.Partitions, p)
		r.Topics = append(r.Topics, t)
	}
	l.send(h, true, r.AppendTo(nil))
}

// TestLinkFetches: from the connection to the log, small answers and large ones.
func TestLinkFetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := newWorld(t, "")
		a := newLog(topicA, 0)
		m.follow(a, 1)
		m.Start(77)
		l.accept()
		h, q := l.fetch()
		if string(h.ClientID) != "broker-2-fetcher-0" || q.ReplicaEpoch != 77 {
			t.Fatalf("%q %+v", h.ClientID, q)
		}
		records := batches(0, 3, 5000)
		if len(records) < 4*inboxSize {
			t.Fatalf("%d bytes are no large answer", len(records))
		}
		l.answer(h, records, 5000)
		h, q = l.fetch()
		if all := asks(q); len(all) != 1 || all[0].FetchOffset != 5000 || a.appended != len(records) {
			t.Fatalf("%+v after %d bytes", all, a.appended)
		}
		l.answer(h, batches(5000, 3, 1), 5001)
		if _, q = l.fetch(); asks(q)[0].FetchOffset != 5001 {
			t.Fatalf("%+v", q)
		}
	})
}

// TestLinkIsWokenByMail: a partition that is new here does not wait for the answer to
// what is out, nor does the end of the link.
func TestLinkIsWokenByMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := newWorld(t, "")
		m.Start(77)
		m.follow(newLog(topicA, 0), 1)
		l.accept()
		h, _ := l.fetch()
		l.answer(h, nil, 0)
		begin := time.Now()
		l.fetch()
		m.follow(newLog(topicA, 1), 1)
		if _, q := l.fetch(); len(asks(q)) != 1 || time.Since(begin) != 0 {
			t.Fatalf("%+v after %v", q, time.Since(begin))
		}
		m.Close()
		if time.Since(begin) != 0 {
			t.Fatalf("the end took %v", time.Since(begin))
		}
	})
}

// TestEndDoesNotWaitForALeader that does not answer a login.
func TestEndDoesNotWaitForALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := newWorld(t, "broker")
		m.Start(77)
		m.follow(newLog(topicA, 0), 1)
		l.accept()
		l.request()
		synctest.Wait()
		begin := time.Now()
		m.Close()
		if time.Since(begin) != 0 {
			t.Fatalf("the end took %v", time.Since(begin))
		}
	})
}

// TestLinkComesBack: after a lost connection and a silent leader it begins anew, soon
// and then later each time.
func TestLinkComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := newWorld(t, "")
		m.Start(77)
		m.follow(newLog(topicA, 0), 1)
		last, least := time.Now(), time.Duration(0)
		for n := range 5 {
			l.accept()
			_, q := l.fetch()
			if d := time.Since(last); q.SessionEpoch != 0 || d < least || d > 2*redialFirst<<n {
				t.Fatalf("connection %d after %v, want %v at least: %+v", n, d, least, q)
			}
			if n > 0 {
				least = redialFirst << n
			}
			last = time.Now()
			_ = l.conn.Close()
		}
		l.accept()
		l.fetch()
		begin := time.Now()
		l.accept() // it hears nothing
		if d := time.Since(begin); d < 30*time.Second || d > 31*time.Second {
			t.Fatalf("a silent leader was given up after %v", d)
		}
	})
}

// TestLinkRefusesHugeFrames: a length beyond the bound ends the connection and makes
// no room.
func TestLinkRefusesHugeFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := newWorld(t, "")
		m.Start(77)
		m.follow(newLog(topicA, 0), 1)
		for _, head := range [][]byte{{0x7f, 0xff, 0xff, 0xff}, {0x80, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}} {
			l.accept()
			l.fetch()
			if _, err := l.conn.Write(head); err != nil {
				t.Fatal(err)
			}
			if _, err := l.conn.Read(make([]byte, 1)); err == nil {
				t.Fatal("the connection goes on")
			}
		}
	})
}

// TestLinkLogsIn with SASL PLAIN, and comes again when it is refused.
func TestLinkLogsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := newWorld(t, "broker")
		m.Start(77)
		m.follow(newLog(topicA, 0), 1)
		for _, code := range []uint16{58, 0} { // SASL_AUTHENTICATION_FAILED, none
			l.accept()
			h, body := l.request()
			if h.Key != 17 || !bytes.Equal(body, []byte("\x00\x05PLAIN")) {
				t.Fatalf("key %d: %q", h.Key, body)
			}
			l.send(h, false, []byte{0, 0, 0, 0, 0, 0})
			h, body = l.request()
			if h.Key != 36 || string(body[4:]) != "\x00broker\x00secret" {
				t.Fatalf("key %d: %q", h.Key, body)
			}
			l.send(h, false, binary.BigEndian.AppendUint16(nil, code))
		}
		if _, q := l.fetch(); len(asks(q)) != 1 {
			t.Fatalf("%+v", q)
		}
	})
}

// TestManagerMovesPartitions between leaders.
func TestManagerMovesPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newWorld(t, "")
		a := newLog(topicA, 0)
		m.follow(a, 1)
		m.follow(a, 3)
		old, now := m.links[place{1, 0}], m.links[place{3, 0}]
		old.readMail()
		now.readMail()
		if old.session.Len() != 0 || now.session.Len() != 1 {
			t.Fatalf("%d with the old leader, %d with the new", old.session.Len(), now.session.Len())
		}
		m.unfollow(a)
		m.unfollow(a)
		now.readMail()
		if now.session.Len() != 0 || len(m.where) != 0 {
			t.Fatal("it is still followed")
		}
	})
}
