package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/mortisemq/mortise/sdk/internal/rpc"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// healthTimeout bounds Health for callers without a deadline.
const healthTimeout = 2 * time.Second

// healthService is the name that go-plugin's health service answers for.
const healthService = "plugin"

// remote is the part of a Target that is a conversation over a connection.
type remote struct {
	conn   *grpc.ClientConn
	client *rpc.Client

	mu        sync.Mutex
	described []Description // guarded by mu: the last Describe
	instances uint64        // guarded by mu: how many there have been
}

func newRemote(conn *grpc.ClientConn) *remote {
	return &remote{conn: conn, client: rpc.NewClient(conn)}
}

// Describe implements Target.
func (r *remote) Describe(ctx context.Context) ([]Description, error) {
	all, err := r.client.Describe(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.described = all
	r.mu.Unlock()
	return all, nil
}

// find is the description of a plugin; which there are is asked once.
func (r *remote) find(ctx context.Context, kind plugin.Kind, name string) (Description, error) {
	r.mu.Lock()
	all := r.described
	r.mu.Unlock()
	if all == nil {
		var err error
		if all, err = r.Describe(ctx); err != nil {
			return Description{}, err
		}
	}
	for _, d := range all {
		if d.Kind == kind && d.Name == name {
			return d, nil
		}
	}
	return Description{}, fmt.Errorf("no plugin %s %s here: %w", kind, name, plugin.ErrUnsupported)
}

// Validate implements Target.
func (r *remote) Validate(ctx context.Context, kind plugin.Kind, name string, config json.RawMessage) error {
	return r.client.Validate(ctx, kind, name, config)
}

// Configure implements Target.
func (r *remote) Configure(ctx context.Context, kind plugin.Kind, name string, c plugin.Config) (*Instance, error) {
	d, err := r.find(ctx, kind, name)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.instances++
	id := name + "-" + strconv.FormatUint(r.instances, 10)
	r.mu.Unlock()
	contract, err := r.client.Configure(ctx, id, d, c)
	if err != nil {
		return nil, err
	}
	return &Instance{id: id, description: d, of: &remoteInstance{r.client, id, contract}}, nil
}

// Health implements Target.
func (r *remote) Health(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, healthTimeout)
		defer cancel()
	}
	answer, err := grpc_health_v1.NewHealthClient(r.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: healthService})
	if err != nil {
		return rpc.ErrorOf(ctx, err)
	}
	if answer.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("health %s: %w", answer.Status, plugin.ErrUnavailable)
	}
	return nil
}

// remoteInstance is an instance at the other end of a connection.
type remoteInstance struct {
	client   *rpc.Client
	id       string
	contract any
}

func (i *remoteInstance) value() any { return i.contract }

func (i *remoteInstance) metrics(ctx context.Context) ([]byte, error) {
	return i.client.Metrics(ctx, i.id)
}

func (i *remoteInstance) drain(ctx context.Context) error { return i.client.Drain(ctx, i.id) }
