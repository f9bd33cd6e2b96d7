package api_test

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/brokertest"
	"github.com/mortisemq/mortise/core/config"
	"github.com/mortisemq/mortise/core/internal/api"
	"github.com/mortisemq/mortise/core/internal/security"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/metrics"
	"github.com/mortisemq/mortise/core/wire"
)

// self is the broker of these tests.
const self kafka.BrokerID = 1

// listener is the one that wire.Record's requests come in by.
const listener = "TEST"

// adminRig is an API over a cluster in memory, without logs.
type adminRig struct {
	t       testing.TB
	api     *api.API
	control *watchedControl
	metrics *metrics.Registry
}

// adminOptions change what a rig is like.
type adminOptions struct {
	static     config.Static
	authorizer api.Authorizer
	openFiles  int
}

// newAdminRig makes a rig with the topics, each "name" or "name:partitions".
func newAdminRig(t testing.TB, o adminOptions, topics ...string) *adminRig {
	t.Helper()
	control := &watchedControl{Control: brokertest.NewControl("cluster-a")}
	if _, err := control.RegisterBroker(context.Background(), meta.Registration{ID: self, Rack: "r1", CleanShutdown: true,
		Endpoints: []meta.Endpoint{{Listener: listener, Host: "one.test", Port: 9092}, {Listener: "INSIDE", Host: "10.0.0.1", Port: 9093}}}); err != nil {
		t.Fatal(err)
	}
	resolver := config.NewResolver(o.static).For(self)
	reg := metrics.NewRegistry()
	rig := &adminRig{t: t, control: control, metrics: reg, api: api.New(api.Deps{Self: self, Control: control, Metrics: reg,
		Config: func() *config.Resolver { return resolver }, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Authorizer: o.authorizer, OpenFiles: o.openFiles})}
	t.Cleanup(rig.api.Close)
	for _, topic := range topics {
		name, count, _ := strings.Cut(topic, ":")
		n, _ := strconv.Atoi(count)
		rig.create(name, max(n, 1))
	}
	return rig
}

// create makes a topic behind the API's back.
func (rig *adminRig) create(name string, partitions int) {
	rig.t.Helper()
	results, err := rig.control.Control.CreateTopics(context.Background(),
		[]meta.NewTopic{{Name: name, PartitionCount: int32(partitions), ReplicationFactor: 1}}, false)
	if err != nil || results[0].Err != nil {
		rig.t.Fatal(err, results)
	}
}

// exists says whether there is a topic.
func (rig *adminRig) exists(name string) bool {
	_, ok := rig.control.Image().Topic(name)
	return ok
}

// send starts a request.
func (rig *adminRig) send(m kmsg.Request) *wire.Recorder {
	r, rec := wire.Record(m, "client")
	rig.api.Handle(r)
	return rec
}

// ask sends a request of a version and waits for its answer.
func ask[R kmsg.Response](rig *adminRig, version int16, m kmsg.Request) R {
	rig.t.Helper()
	m.SetVersion(version)
	resp := m.ResponseKind()
	if err := rig.send(m).Message(resp); err != nil {
		rig.t.Fatalf("answer to %T: %v", m, err)
	}
	return resp.(R)
}

// watchedControl counts decisions, and can hold them up.
type watchedControl struct {
	*brokertest.Control
	creations atomic.Int32
	alters    atomic.Int32
	gate      chan struct{} // nil: at once; else each creation takes a token
	onAlter   func()        // before a change of configs is decided

	mu    sync.Mutex
	names []string // asked to create, in order
}

// CreateTopics implements meta.Control.
func (c *watchedControl) CreateTopics(ctx context.Context, topics []meta.NewTopic, validateOnly bool) ([]meta.TopicResult, error) {
	c.creations.Add(1)
	c.mu.Lock()
	for _, t := range topics {
		c.names = append(c.names, t.Name)
	}
	c.mu.Unlock()
	if c.gate != nil {
		select {
		case <-c.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return c.Control.CreateTopics(ctx, topics, validateOnly)
}

// AlterConfigs implements meta.Control.
func (c *watchedControl) AlterConfigs(ctx context.Context, changes []meta.ConfigChange, validateOnly bool) ([]*kafka.Error, error) {
	c.alters.Add(1)
	if c.onAlter != nil {
		c.onAlter()
	}
	return c.Control.AlterConfigs(ctx, changes, validateOnly)
}

// asked are the names that somebody had created, sorted.
func (c *watchedControl) asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.names))
}

// denying allows everything but some operations.
type denying map[api.Operation]bool

// Allowed implements api.Authorizer.
func (d denying) Allowed(c *wire.ConnInfo, key int16, op api.Operation, t api.ResourceType, _ string) security.Answer {
	return d.AllowedByType(c, key, op, t)
}

// AllowedByType implements api.Authorizer.
func (d denying) AllowedByType(_ *wire.ConnInfo, _ int16, op api.Operation, _ api.ResourceType) security.Answer {
	if d[op] {
		return security.No
	}
	return security.Yes
}

// AllowedAll implements api.Authorizer.
func (d denying) AllowedAll(c *wire.ConnInfo, key int16, op api.Operation, t api.ResourceType, names []string) []security.Answer {
	return slices.Repeat([]security.Answer{d.AllowedByType(c, key, op, t)}, len(names))
}

// TakesRules implements api.Authorizer.
func (denying) TakesRules() bool { return true }

// text is a message on the wire.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
