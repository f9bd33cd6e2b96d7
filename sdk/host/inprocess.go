package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"github.com/mortisemq/mortise/sdk/internal/rpc"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// pipeBytes is the buffer between both ends of an InProcess target.
const pipeBytes = 256 << 10

// inProcess is a Target whose other end is in this process.
type inProcess struct {
	*remote
	server *rpc.Server
	grpc   *grpc.Server
	served chan struct{} // closed when grpc.Serve returned
	done   chan struct{}
	stop   sync.Once
	err    error // of Stop; set by stop
}

// InProcess is a target of plugins in this process behind the whole conversation
// (gRPC over memory), as a process would be: answers are checked and panics are
// errors. It is for tests and for the conformance kit. Stop it.
func InProcess(plugins ...plugin.Plugin) (Target, error) {
	server, err := rpc.NewServer(plugins, "in process", os.Stderr)
	if err != nil {
		return nil, err
	}
	pipe := bufconn.Listen(pipeBytes)
	options := append(rpc.DialOptions(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient("passthrough:memory", options...)
	if err != nil {
		return nil, fmt.Errorf("connection in memory: %w", err)
	}
	t := &inProcess{
		remote: newRemote(conn), server: server, grpc: grpc.NewServer(server.Options()...),
		served: make(chan struct{}), done: make(chan struct{}),
	}
	server.Register(t.grpc)
	state := health.NewServer()
	state.SetServingStatus(healthService, grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(t.grpc, state)
	go func() {
		defer close(t.served)
		_ = t.grpc.Serve(pipe) // ends with Stop only: a pipe in memory has no errors
	}()
	return t, nil
}

// Done implements Target.
func (t *inProcess) Done() <-chan struct{} { return t.done }

// ExitError implements Target.
func (t *inProcess) ExitError() error { return nil }

// Stop implements Target. It can't end code of a plugin that runs on when its context
// is done; it then returns an error and leaves it running.
func (t *inProcess) Stop(ctx context.Context) error {
	t.stop.Do(func() {
		closing := t.server.Close(ctx)
		t.err = errors.Join(closing, t.conn.Close())
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			t.grpc.Stop()
			<-t.served
		}()
		select {
		case <-stopped:
		case <-ctx.Done():
			t.err = errors.Join(t.err, ctx.Err())
		}
		close(t.done)
	})
	return t.err
}
