package rpc

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"google.golang.org/grpc"

	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// Server is the answering side: plugins and their instances behind gRPC services.
type Server struct {
	pluginpb.UnimplementedPluginBaseServer
	plugins []plugin.Plugin
	sdk     string
	stderr  io.Writer

	mu        sync.Mutex
	instances map[string]*served // guarded by mu; bounded by maxInstances
}

// NewServer serves the plugins. Stacks of panics go to stderr.
func NewServer(plugins []plugin.Plugin, sdk string, stderr io.Writer) (*Server, error) {
	if len(plugins) == 0 || len(plugins) > plugin.MaxDescriptions {
		return nil, fmt.Errorf("%d plugins: want 1 to %d", len(plugins), plugin.MaxDescriptions)
	}
	for i, p := range plugins {
		if err := p.Check(); err != nil {
			return nil, err
		}
		if _, err := plugin.Find(plugins[:i], p.Kind, p.Name); err == nil {
			return nil, fmt.Errorf("plugin %s %s is there twice", p.Kind, p.Name)
		}
	}
	return &Server{plugins: plugins, sdk: sdk, stderr: stderr, instances: map[string]*served{}}, nil
}

// Register adds the services to a gRPC server.
func (s *Server) Register(to grpc.ServiceRegistrar) {
	pluginpb.RegisterPluginBaseServer(to, s)
	pluginpb.RegisterPartitionerServer(to, &partitionerServer{s: s})
	pluginpb.RegisterAuthenticatorServer(to, &authenticatorServer{s: s})
	pluginpb.RegisterAuthorizerServer(to, &authorizerServer{s: s})
	pluginpb.RegisterRetentionServer(to, &retentionServer{s: s})
}

// Options are what a gRPC server of plugins needs: limits of size and number, and
// panics that end a call only.
func (s *Server) Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxMessageBytes),
		grpc.MaxSendMsgSize(MaxMessageBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ChainUnaryInterceptor(s.recoverUnary),
		grpc.ChainStreamInterceptor(s.recoverStream),
	}
}

func (s *Server) recoverUnary(ctx context.Context, q any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (a any, err error) {
	defer func() {
		if r := recover(); r != nil {
			a, err = nil, statusOf(s.panicked(info.FullMethod, r))
		}
	}()
	return handle(ctx, q)
}

func (s *Server) recoverStream(of any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = statusOf(s.panicked(info.FullMethod, r))
		}
	}()
	return handle(of, stream)
}

// panicked tells of a panic on stderr and makes an error of it.
func (s *Server) panicked(method string, r any) error {
	fmt.Fprintf(s.stderr, "panic in %s: %v\n%s\n", method, r, debug.Stack())
	return panicError{fmt.Sprint(r) + panickedAt()}
}

// panickedAt is where the panic that is being recovered from began, as " (file.go:12)".
func panickedAt() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for panicking, more := false, true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(f.Function, "runtime."): // an index out of range passes through it
			return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
	}
	return ""
}

// panicError is plugin.ErrPanicked with a text that ErrorOf knows it by.
type panicError struct{ text string }

func (e panicError) Error() string { return panicPrefix + e.text }
func (e panicError) Unwrap() error { return plugin.ErrPanicked }
