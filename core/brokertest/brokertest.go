package brokertest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/mortisemq/mortise/core/broker"
	"github.com/mortisemq/mortise/core/clock"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/vfs"
	"github.com/mortisemq/mortise/core/vnet"
	"github.com/mortisemq/mortise/sdk/storage"
)

// self is the broker of a test that has one.
const self kafka.BrokerID = 1

// listenerName is the one client listener.
const listenerName = "PLAINTEXT"

// AdminToken lets a test change plugins through the admin listener.
const AdminToken = "the token of a test"

// Options change what a test's broker is like. The zero value is a broker on
// memory disk and network.
type Options struct {
	// FS is the disk; nil: a memory one. Only a memory disk can crash.
	FS vfs.FS
	// LogDirs on it; nil: one.
	LogDirs []string
	// Loopback listens on a real port of 127.0.0.1, which stays the broker's until the
	// test ends, not on a memory network.
	Loopback  bool
	ClusterID string        // empty: "brokertest"
	Static    config.Static // Kafka's broker keys
	Retention storage.Retention
	Clock     clock.Clock
	Log       *slog.Logger // nil: the test's log
	Admin     bool         // with the admin listener
	SASL      *broker.SASL // nil: clients are anonymous
	Security  broker.Security
	Plugins   broker.Plugins
	// ClientTelemetry takes the metrics of clients.
	ClientTelemetry bool
	Rack            string
	Racks           []string // of StartMany's brokers, in the place of Rack

	Replication broker.Replication
}

// Broker is a broker of a test. Its methods belong to the test's goroutine,
// except Dial, HTTP and addresses.
type Broker struct {
	// Control lives on when the broker restarts.
	Control *Control
	// ID is the broker's.
	ID kafka.BrokerID

	t       testing.TB
	options Options
	net     vnet.Network
	address string
	broker  *broker.Broker // nil: stopped
}

// Start runs a broker until the test ends.
func Start(t testing.TB, o Options) *Broker {
	t.Helper()
	o.fill(t)
	b := &Broker{Control: NewControl(o.ClusterID), ID: self, t: t, options: o, net: vnet.NewMem(1).Host("broker1"), address: "broker1:9092"}
	if o.Loopback {
		taken := takePort(t)
		b.net, b.address = taken, taken.address()
	}
	b.run()
	return b
}

// StartMany runs brokers 1 to n of one cluster until the test ends, each with a disk of
// its own, on the hosts broker1, broker2 … of one memory network. Nobody fences a broker
// that stops: a test does that by Control.
func StartMany(t testing.TB, n int, o Options) ([]*Broker, *vnet.Mem) {
	t.Helper()
	if o.FS != nil || o.Loopback {
		t.Fatal("brokers of one cluster have disks of their own and one network in memory")
	}
	o.fill(t)
	control, network := NewControl(o.ClusterID), vnet.NewMem(1)
	var all []*Broker
	for id := range n {
		o.FS = vfs.NewMem()
		if o.Racks != nil {
			o.Rack = o.Racks[id]
		}
		host := fmt.Sprintf("broker%d", id+1)
		b := &Broker{Control: control, ID: kafka.BrokerID(id + 1), t: t, options: o, net: network.Host(host), address: host + ":9092"}
		b.run()
		all = append(all, b)
	}
	return all, network
}

// fill puts defaults in the place of zero values.
func (o *Options) fill(t testing.TB) {
	if o.FS == nil {
		o.FS = vfs.NewMem()
	}
	if o.LogDirs == nil {
		o.LogDirs = []string{"/data/logs"}
	}
	if o.ClusterID == "" {
		o.ClusterID = "brokertest"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
}

// run runs a broker until the test ends.
func (b *Broker) run() {
	b.t.Helper()
	b.start()
	b.t.Cleanup(func() {
		if b.broker != nil {
			b.Stop()
		}
	})
}

// start starts a broker on the present disk.
func (b *Broker) start() {
	b.t.Helper()
	o := broker.Options{FS: b.options.FS, Net: b.net, Clock: b.options.Clock, Log: b.options.Log,
		NodeID: b.ID, Rack: b.options.Rack, Replication: b.options.Replication, LogDirs: b.options.LogDirs, Static: b.options.Static, Retention: b.options.Retention,
		Listeners: []broker.Listener{{Name: listenerName, Address: b.address, SASL: b.options.SASL}},
		Security:  b.options.Security, Plugins: b.options.Plugins,
		ClientTelemetry: b.options.ClientTelemetry,
		Control:         b.Control, Registrar: b.Control}
	if b.options.Admin {
		o.AdminAddress, o.AdminToken = "127.0.0.1:0", AdminToken
	}
	made, err := broker.New(o)
	if err == nil {
		b.broker = made
		err = made.Start(context.Background())
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// Stop ends the broker in order.
func (b *Broker) Stop() {
	b.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err := b.broker.Close(ctx); err != nil {
		b.t.Errorf("stop broker: %v", err)
	}
	b.broker = nil
}

// Restart stops the broker in order and starts it on the same disk and address.
func (b *Broker) Restart() {
	b.t.Helper()
	if b.broker != nil {
		b.Stop()
	}
	b.start()
}

// Crash takes the power away: what was not synced is lost, by chance in whole or
// in part, and a broker starts on what the disk has.
func (b *Broker) Crash(random *rand.Rand) {
	b.t.Helper()
	disk, ok := b.options.FS.(*vfs.Mem)
	if !ok {
		b.t.Fatal("only a memory disk can crash")
	}
	b.options.FS = disk.Crash(vfs.CrashOptions{KeepUnsynced: random.Float64(), Torn: true, Rand: random})
	b.Stop() // it goes on with the old disk, which nobody sees any more
	b.start()
}

// RestartOn stops the broker and starts one on another disk, for example on what a
// crash at some moment would have left.
func (b *Broker) RestartOn(disk vfs.FS) {
	b.t.Helper()
	b.Stop()
	b.options.FS = disk
	b.start()
}

// Reconfigure replaces the broker keys, as a reload of the config file does, and
// returns those that wait for a restart.
func (b *Broker) Reconfigure(static config.Static) (pending []string) {
	b.options.Static = static
	return b.broker.Reconfigure(static)
}

// Heard tells the broker that whoever decides has answered it now.
func (b *Broker) Heard() { b.broker.Heard(time.Now()) }

// Settle returns once what Control has decided until now is in effect on this broker.
// Without it a test that has changed Control sees the broker before or after.
func (b *Broker) Settle() {
	b.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err := b.broker.Settle(ctx); err != nil {
		b.t.Fatalf("broker %d does not follow what was decided: %v", b.ID, err)
	}
}

// patience is how long a broker may take to stop, and to do what was decided. It is only
// for what would never come to an end: a machine may be as slow as it likes.
const patience = time.Minute

// FS is the present disk.
func (b *Broker) FS() vfs.FS { return b.options.FS }

// Addr is the address of the client listener.
func (b *Broker) Addr() string { return b.address }

// AdminAddr is the address of the admin listener.
func (b *Broker) AdminAddr() string { return b.broker.AdminAddr().String() }

// HTTP makes a client that reaches the admin listener, on whatever network that is.
func (b *Broker) HTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // after a restart others may have the port
		DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return b.net.Dial(ctx, address) },
	}}
}

// Dial opens a connection as a client would.
func (b *Broker) Dial() (net.Conn, error) { return b.net.Dial(context.Background(), b.address) }

// dialMax is how long clients try to reach a broker.
const dialMax = 10 * time.Second

// Client makes a client of this broker that is closed with the test.
func (b *Broker) Client(opts ...kgo.Opt) *kgo.Client {
	b.t.Helper()
	all := append([]kgo.Opt{
		kgo.SeedBrokers(b.address),
		kgo.Dialer(func(ctx context.Context, _, address string) (net.Conn, error) {
			// As kgo's own: who is cut off never answers.
			ctx, stop := context.WithTimeout(ctx, dialMax)
			defer stop()
			return b.net.Dial(ctx, address)
		}),
	}, opts...)
	c, err := kgo.NewClient(all...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

// CreateTopic makes a topic on this broker, which has it when CreateTopic returns.
func (b *Broker) CreateTopic(name string, partitions int32, configs map[string]string) *meta.Topic {
	b.t.Helper()
	assignment := slices.Repeat([][]kafka.BrokerID{{b.ID}}, int(partitions))
	return b.AssignTopic(name, configs, assignment...)
}

// AssignTopic makes a topic with a partition for each list of replicas. This broker has
// its own of them when AssignTopic returns, the others soon.
func (b *Broker) AssignTopic(name string, configs map[string]string, replicas ...[]kafka.BrokerID) *meta.Topic {
	b.t.Helper()
	r, err := b.Control.CreateTopics(context.Background(), []meta.NewTopic{{Name: name, Assignment: replicas, Configs: configs}}, false)
	if err != nil {
		b.t.Fatal(err)
	}
	if r[0].Err != nil {
		b.t.Fatal(r[0].Err)
	}
	if b.broker != nil {
		b.Settle()
	}
	return r[0].Topic
}
