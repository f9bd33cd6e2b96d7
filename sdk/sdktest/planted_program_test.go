package sdktest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/mortisemq/mortise/sdk"
	"github.com/mortisemq/mortise/sdk/internal/handshake"
	"github.com/mortisemq/mortise/sdk/internal/rpc"
	"github.com/mortisemq/mortise/sdk/plugin"
)

func programFaults(t *testing.T) []fault {
	p, logs := goodPartitioner().plugin(), goodAuthenticator().plugin()
	all := []fault{
		{name: "prints-first", finds: "launch/start", says: "no handshake", plugin: p},
		{name: "ends-at-once", finds: "launch/start", says: "exit status 3", plugin: p},
		{name: "speaks-plainly", finds: "launch/start", says: "talk to anybody", plugin: p},
		{name: "is-not-healthy", late: lateEnd, finds: "launch/start", says: "unknown service", plugin: p},
		{name: "prints-later", finds: "launch/output", says: "prints more", plugin: p},
		{name: "trusts-anybody", finds: "launch/certificates", says: "it answers", plugin: p},
		{name: "long-socket", finds: "launch/directory", plugin: p},
		{name: "serves-by-hand", finds: "launch/by-hand", plugin: p},
		{name: "interrupted", finds: "launch/interrupt", says: "interrupt", plugin: p},
		{name: "no-shutdown", finds: "launch/shutdown", says: "killed", plugin: p},
		{name: "orphan", late: lateEnd, finds: "launch/orphan", says: "its broker is dead", plugin: p},
		{name: "another-version-each-time", finds: "base/describe", says: "another start", plugin: p},
		{name: "dies-when-asked", finds: answersCase, says: "gone", plugin: p},
		{name: "another-order-each-time", finds: "partitioner/restart", says: "another start", plugin: p},
		{name: "leaves-files-open", late: lateClose, finds: "base/leaks", says: "open files", plugin: p},
		{name: "grows-in-its-process", finds: "robust/memory", says: "KiB", plugin: p},
		{name: "logs-secrets", finds: "authenticator/secrets", says: "log", plugin: logs, facts: aliceFacts()},
	}
	for i := range all {
		all[i].way = WayProgram
	}
	return all
}

// runPlanted is a program with the fault of that name, and its exit code.
func runPlanted(name string) int {
	p := goodPartitioner()
	switch name {
	case "good-partitioner":
		sdk.Serve(p.plugin())
	case "good-authenticator":
		sdk.Serve(goodAuthenticator().plugin())
	case "good-authorizer":
		sdk.Serve(goodAuthorizer().plugin())
	case "good-retention":
		sdk.Serve(goodRetention().plugin())
	case "prints-first":
		fmt.Println("starting…")
	case "ends-at-once":
		return 3
	case "another-version-each-time":
		p.p.Version = "1.0." + strconv.Itoa(os.Getpid())
	case "dies-when-asked":
		p.assign = func(question) { os.Exit(1) }
	case "another-order-each-time":
		sdk.Serve(byStart(func() uint32 { return uint32(os.Getpid()) }))
	case "leaves-files-open":
		var kept []*os.File // else the collector closes them
		p.start = func(context.Context, plugin.Config) {
			read, write, _ := os.Pipe()
			kept = append(kept, read, write)
		}
	case "grows-in-its-process":
		var kept [][]byte
		p.assign = func(q question) {
			good(q)
			kept = append(kept, make([]byte, 16<<10))
			clear(kept[len(kept)-1])
		}
	case "logs-secrets":
		a := goodAuthenticator()
		a.log = func(_ plugin.Config, secret string) { slog.Info("login", "password", secret) }
		sdk.Serve(a.plugin())
	default:
		return serveBadly(name, p.plugin())
	}
	sdk.Serve(p.plugin())
	return 0
}

// serveBadly serves without package sdk, and leaves out what that takes care of.
func serveBadly(name string, p plugin.Plugin) int {
	identity, err := handshake.NewIdentity(time.Now())
	if err != nil {
		return 1
	}
	config, err := identity.Answerer(os.Getenv(handshake.CertificateKey))
	if err != nil {
		if name != "serves-by-hand" {
			return 1
		}
		config = &tls.Config{}
	}
	if name == "trusts-anybody" {
		config.ClientAuth = tls.NoClientCert
	}
	socket := "s"
	if name == "long-socket" {
		socket = strings.Repeat("s", 40)
	}
	path := filepath.Join(os.Getenv("TMPDIR"), socket)
	if dir := os.Getenv("PLUGIN_UNIX_SOCKET_DIR"); dir != "" {
		path = filepath.Join(dir, socket)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	line := handshake.Line{Socket: path, Certificate: identity.Certificate()}.String()
	if name == "speaks-plainly" {
		line = line[:strings.LastIndex(line, "|")]
	}
	fmt.Println(line)
	if name == "prints-later" {
		fmt.Println("ready")
	}
	if name == "serves-by-hand" {
		return 0
	}
	if err := serveOn(listener, name, config, p); err != nil {
		return 1
	}
	return 0
}

func serveOn(listener net.Listener, name string, config *tls.Config, p plugin.Plugin) error {
	server, err := rpc.NewServer([]plugin.Plugin{p}, "bad", io.Discard)
	if err != nil {
		return err
	}
	g := grpc.NewServer(append(server.Options(), grpc.Creds(credentials.NewTLS(config)))...)
	server.Register(g)
	state := health.NewServer()
	if name != "is-not-healthy" {
		state.SetServingStatus("plugin", grpc_health_v1.HealthCheckResponse_SERVING)
	}
	grpc_health_v1.RegisterHealthServer(g, state)
	return g.Serve(listener)
}
