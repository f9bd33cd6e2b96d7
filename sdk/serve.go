package sdk

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/mortisemq/mortise/sdk/internal/handshake"
	"github.com/mortisemq/mortise/sdk/internal/rpc"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// closeTimeout bounds how long instances may take to close when the process ends.
const closeTimeout = 2 * time.Second

// Exit codes of Serve.
const (
	exitDone  = 0 // the broker ended it, or it described itself
	exitWrong = 1 // it can't serve
	exitUsage = 2 // a person started it
)

// Serve serves the plugins to the broker that started this process, and exits the
// process when the broker is done with it. Started by anybody else it prints what it
// is, as JSON with --describe, and exits.
func Serve(plugins ...plugin.Plugin) {
	out := os.Stdout
	os.Stdout = os.Stderr // nothing but the handshake goes to the real one
	os.Exit(run(plugins, out, os.Stderr, os.Args))
}

// run is Serve with an exit code.
func run(plugins []plugin.Plugin, out, stderr io.Writer, args []string) int {
	server, err := rpc.NewServer(plugins, sdkName(), stderr)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitWrong
	}
	if os.Getenv(handshake.CookieKey) != handshake.CookieValue {
		return introduce(plugins, out, stderr, args)
	}
	slog.SetDefault(slog.New(NewHandler(stderr)))
	limitMemory()
	if err := serve(server, out); err != nil {
		slog.Error("plugin can't serve", "error", err)
		return exitWrong
	}
	return exitDone
}

// serve makes the handshake on out and serves until the broker is done.
//
// go-plugin runs in its test mode, because that leaves to us what it does badly: it
// would print the handshake to whatever os.Stdout is at that moment, send everything
// printed later through a pipe that blocks when nobody reads it, and make P-521 keys.
func serve(server *rpc.Server, out io.Writer) error {
	identity, err := handshake.NewIdentity(time.Now())
	if err != nil {
		return err
	}
	answerer, err := identity.Answerer(os.Getenv(handshake.CertificateKey))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	signal.Ignore(os.Interrupt) // Ctrl-C is the broker's to handle
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go watchParent(ctx, os.Getppid, cancel)

	reattach := make(chan *goplugin.ReattachConfig, 1)
	closed := make(chan struct{})
	go goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{ProtocolVersion: handshake.ProtocolVersion},
		VersionedPlugins: map[int]goplugin.PluginSet{handshake.ProtocolVersion: {pluginSet: services{server: server}}},
		TLSProvider:      func() (*tls.Config, error) { return answerer, nil },
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(o, server.Options()...)...)
		},
		Logger: hclog.NewNullLogger(),
		Test:   &goplugin.ServeTestConfig{Context: ctx, ReattachConfigCh: reattach, CloseCh: closed},
	})
	select {
	case r := <-reattach:
		address, ok := r.Addr.(*net.UnixAddr)
		if !ok {
			return fmt.Errorf("address %s is no unix socket", r.Addr)
		}
		line := handshake.Line{Socket: address.Name, Certificate: identity.Certificate()}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return fmt.Errorf("handshake: %w", err)
		}
	case <-closed:
		return errors.New("no socket to listen on: is " + goplugin.EnvUnixSocketDir + " writable and its path short?")
	}
	<-closed
	ending, done := context.WithTimeout(context.Background(), closeTimeout)
	defer done()
	return server.Close(ending)
}

// pluginSet is the one name in go-plugin's set of plugins; which there are is asked
// with Describe.
const pluginSet = "mortise"

// services registers the services with go-plugin's server.
type services struct {
	goplugin.NetRPCUnsupportedPlugin
	server *rpc.Server
}

// GRPCServer implements goplugin.GRPCPlugin.
func (s services) GRPCServer(_ *goplugin.GRPCBroker, to *grpc.Server) error {
	s.server.Register(to)
	return nil
}

// GRPCClient implements goplugin.GRPCPlugin; this end has none.
func (s services) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.ErrUnsupported
}

// limitMemory makes the collector work harder before the process meets the limit that
// the broker set.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit, err := strconv.ParseInt(os.Getenv(handshake.MemoryKey), 10, 64); err == nil && limit > 0 {
		debug.SetMemoryLimit(limit / 10 * 8)
	}
}

// sdkName is this package and its version, for people.
func sdkName() string {
	const module = "github.com/mortisemq/mortise"
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module && m.Version != "" {
				version = m.Version
			}
		}
	}
	return "go sdk " + version
}
