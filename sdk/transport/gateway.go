package transport

import (
	"context"
	"net"
	"time"
)

// Gateway is a front end of another protocol. See the package's obligations.
type Gateway interface {
	// Serve serves clients on the listeners until ctx is done or something breaks.
	Serve(ctx context.Context, host Host, listeners []net.Listener) error
	// StopAccepting ends accepting; clients that are there are served on.
	StopAccepting(ctx context.Context) error
	// Kick ends the sessions with the tokens: an operator or a new policy wants it.
	Kick(ctx context.Context, tokens []Token, reason string) error
}

// Token stands for a session. The broker makes it, at random, and it is void with the
// generation of the plugin that got it.
type Token [16]byte

// Host is what a gateway may ask the broker for.
type Host interface {
	// OpenSession has the broker's authenticator look at a client's credential. It
	// takes up to 2 s.
	OpenSession(ctx context.Context, c Credential) (Session, error)
	CloseSession(ctx context.Context, t Token) error
	// Produce appends records as the session's client, whose rights are checked. The
	// answer has one Produced for each record.
	Produce(ctx context.Context, t Token, topic string, records []Record) ([]Produced, error)
	// Fetch reads as the session's client. It returns at most maxBytes, after at most
	// wait, and at least one record if there is one.
	Fetch(ctx context.Context, t Token, from Position, maxBytes int, wait time.Duration) (Fetched, error)
}

// Credential is what a client showed.
type Credential struct {
	Mechanism   string // PLAIN, OAUTHBEARER, or a certificate's
	User        string
	Secret      []byte
	Certificate [][]byte // DER, leaf first; verified by the gateway's TLS
	Peer        string   // IP address of the client
}

// Session is a client that the broker knows.
type Session struct {
	Token     Token
	Principal string    // Type:name
	Until     time.Time // zero: no end
}

// AnyPartition lets the topic's partitioner choose.
const AnyPartition int32 = -1

// Record is one record to append.
type Record struct {
	Key, Value  []byte // nil: null
	Headers     []Header
	TimestampMS int64 // 0: the broker's time
	Partition   int32 // AnyPartition: the topic's partitioner chooses
}

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Produced says where a record went, or why not.
type Produced struct {
	Partition int32
	Offset    int64
	Err       error
	Retriable bool // trying again may succeed
}

// Position is where to read.
type Position struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Fetched is what was read.
type Fetched struct {
	Records []FetchedRecord
	Next    int64 // the offset to ask for next
	End     int64 // high watermark
}

// FetchedRecord is a record with its place.
type FetchedRecord struct {
	Record
	Offset int64
}

// Listener brings connections of the Kafka protocol by other ways than TCP. It is
// compiled in, for connections do not cross processes.
type Listener interface {
	// Listen makes a listener for an address in the plugin's own form.
	Listen(ctx context.Context, address string) (net.Listener, error)
}
