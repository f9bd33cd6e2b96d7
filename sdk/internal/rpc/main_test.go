package rpc

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/mortisemq/mortise/sdk/plugin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// talk connects a client to services in memory.
func talk(t testing.TB, options []grpc.ServerOption, register func(*grpc.Server)) *Client {
	t.Helper()
	pipe := bufconn.Listen(1 << 20)
	g := grpc.NewServer(options...)
	register(g)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = g.Serve(pipe)
	}()
	conn, err := grpc.NewClient("passthrough:memory", append(DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		g.Stop()
		<-served
	})
	return NewClient(conn)
}

// safeBuffer is what a server prints.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// serve connects a client to plugins.
func serve(t testing.TB, plugins ...plugin.Plugin) (*Client, *Server, *safeBuffer) {
	t.Helper()
	printed := &safeBuffer{}
	s, err := NewServer(plugins, "test", printed)
	if err != nil {
		t.Fatal(err)
	}
	return talk(t, s.Options(), func(g *grpc.Server) { s.Register(g) }), s, printed
}

// configure makes one instance of the plugin.
func configure[T any](t testing.TB, c *Client, p plugin.Plugin, id string) T {
	t.Helper()
	made, err := c.Configure(t.Context(), id, p.Describe(), plugin.Config{Instance: "mine", ClusterID: "c", BrokerID: 7})
	if err != nil {
		t.Fatal(err)
	}
	contract, ok := made.(T)
	if !ok {
		t.Fatalf("%T", made)
	}
	return contract
}
