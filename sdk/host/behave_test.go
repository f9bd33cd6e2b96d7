//go:build unix

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/mortisemq/mortise/sdk"
	"github.com/mortisemq/mortise/sdk/internal/handshake"
	"github.com/mortisemq/mortise/sdk/internal/rpc"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// behave is what a process of the tests does.
func behave(name string, args []string) {
	switch name {
	case "good":
		sdk.Serve(lengths(), odd())
	case "fast":
		sdk.Serve(fast()...)
	case "host":
		beHost(args[0])
	case "child":
		holdLine(args[0])
		select {}
	case "exit 0":
		os.Exit(0)
	case "complain and exit":
		fmt.Fprintln(os.Stderr, "no such file: \x1b[31mrules.yaml")
		os.Exit(7)
	case "silent":
		fmt.Fprintln(os.Stderr, "alive")
		select {}
	case "banner":
		fmt.Println("Welcome!")
		sdk.Serve(lengths())
	case "long line":
		fmt.Println(strings.Repeat("x", 1<<20))
		sdk.Serve(lengths())
	case "native":
		serveNatively()
	case "noise":
		makeNoise()
		sdk.Serve(odd())
	default:
		lie(name)
	}
}

// lie makes a handshake that is not true.
func lie(name string) {
	dir := os.Getenv(goplugin.EnvUnixSocketDir)
	mine, err := handshake.NewIdentity(time.Now())
	if err != nil {
		panic(err)
	}
	socket := filepath.Join(dir, "s")
	certificate := strings.SplitN(handshake.Line{Certificate: mine.Certificate()}.String(), "|", 6)[5]
	say := func(format string, a ...any) { fmt.Printf(format+"\n", a...) }
	listener, err := net.Listen("unix", socket)
	if err != nil {
		panic(err)
	}
	switch name {
	case "tcp":
		say("1|1|tcp|127.0.0.1:22|grpc|%s", certificate)
	case "elsewhere":
		say("1|1|unix|/run/dbus/system_bus_socket|grpc|%s", certificate)
	case "climbs":
		say("1|1|unix|%s/../s|grpc|%s", dir, certificate)
	case "no socket":
		if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
			panic(err)
		}
		say("1|1|unix|%s|grpc|%s", filepath.Join(dir, "f"), certificate)
	case "link":
		if err := os.Symlink(socket, filepath.Join(dir, "l")); err != nil {
			panic(err)
		}
		say("1|1|unix|%s|grpc|%s", filepath.Join(dir, "l"), certificate)
	case "no tls":
		say("1|1|unix|%s|grpc", socket)
	case "bad certificate":
		say("1|1|unix|%s|grpc|%s", socket, strings.Repeat("A", 400))
	case "netrpc":
		say("1|1|unix|%s|netrpc|%s", socket, certificate)
	case "version 2":
		say("1|2|unix|%s|grpc|%s", socket, certificate)
	case "go-plugin 2":
		say("2|1|unix|%s|grpc|%s", socket, certificate)
	case "gone":
		say("1|1|unix|%s|grpc|%s", socket, certificate)
		os.Exit(0)
	case "accepts nobody":
		say("1|1|unix|%s|grpc|%s", socket, certificate)
		fmt.Fprintln(os.Stderr, "alive")
	case "plaintext":
		say("1|1|unix|%s|grpc|%s", socket, certificate)
		server, err := rpc.NewServer([]plugin.Plugin{lengths()}, "", os.Stderr)
		if err != nil {
			panic(err)
		}
		g := grpc.NewServer()
		server.Register(g)
		panic(g.Serve(listener))
	default:
		fmt.Fprintln(os.Stderr, "no behaviour", name)
		os.Exit(3)
	}
	select {}
}

// makeNoise writes what go-plugin's parser of log lines panics over, and more.
func makeNoise() {
	for _, line := range []string{
		`{"@level":5}`, `{"@message":{}}`, `{"@timestamp":[1]}`, `{"@level":"info","@message":"x","@timestamp":7}`,
		"\x1b[2Jcleared", "bad \xff\xfe utf-8", "panic: not really", strings.Repeat("y", 1<<20), "",
	} {
		fmt.Fprintln(os.Stderr, line)
	}
	slog.SetDefault(slog.New(sdk.NewHandler(os.Stderr)))
	slog.Warn("through slog", "n", 3)
}

// serveNatively is a plugin by go-plugin's own Serve: what anybody may write.
func serveNatively() {
	server, err := rpc.NewServer([]plugin.Plugin{odd()}, "", os.Stderr)
	if err != nil {
		panic(err)
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: handshake.ProtocolVersion, MagicCookieKey: handshake.CookieKey, MagicCookieValue: handshake.CookieValue,
		},
		Plugins:    goplugin.PluginSet{"any": native{server: server}},
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server { return grpc.NewServer(append(o, server.Options()...)...) },
	})
}

type native struct {
	goplugin.NetRPCUnsupportedPlugin
	server *rpc.Server
}

func (n native) GRPCServer(_ *goplugin.GRPCBroker, to *grpc.Server) error {
	n.server.Register(to)
	return nil
}

func (n native) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.ErrUnsupported
}

// beHost launches a plugin that holds a line to address, as does a child of it, and
// waits to be killed.
func beHost(address string) {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	p, err := Launch(context.Background(), Command{Path: path, Args: []string{"behave", "good"}, RunDir: os.Getenv("RUN_DIR")})
	if err != nil {
		panic(err)
	}
	for _, question := range []string{"hold " + address, "fork stay " + address} {
		if err := p.Validate(context.Background(), plugin.Partitioner, "odd", []byte(`"`+question+`"`)); err == nil {
			panic("no answer")
		}
	}
	select {}
}

// holdLine connects to a socket of a test: the connection ends with this process.
func holdLine(address string) {
	c, err := net.Dial("unix", address)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(c, os.Getpid())
	go func() { _, _ = c.Read(make([]byte, 1)) }()
}

// lengths is a partitioner by the length of the key.
func lengths() plugin.Plugin {
	return partitioner.Plugin(plugin.Plugin{Name: "lengths", Version: "1.2.3", Features: []string{partitioner.FeatureDeterministic}},
		func(context.Context, plugin.Config) (partitioner.Partitioner, error) {
			return partitioner.Func(func(_ string, key []byte, n int32) int32 { return int32(len(key)) % n }), nil
		})
}

// odd is a partitioner that does what keys tell it to, and whose Validate answers
// questions about the process as errors.
func odd() plugin.Plugin {
	p := partitioner.Plugin(plugin.Plugin{Name: "odd", Version: "0.0.1"},
		func(context.Context, plugin.Config) (partitioner.Partitioner, error) { return oddPartitioner{}, nil })
	p.Validate = func(config json.RawMessage) error { return errors.New(look(strings.Trim(string(config), `"`))) }
	return p
}

// look answers a question about this process.
func look(question string) string {
	verb, rest, _ := strings.Cut(question, " ")
	switch verb {
	case "env":
		return strings.Join(os.Environ(), " ")
	case "dir":
		dir, _ := os.Getwd()
		return dir
	case "uid":
		return fmt.Sprint(os.Getuid())
	case "status":
		text, _ := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, rest) {
				return strings.TrimSpace(line)
			}
		}
	case "limits":
		var data, files, core unix.Rlimit
		_ = unix.Getrlimit(unix.RLIMIT_DATA, &data)
		_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
		_ = unix.Getrlimit(unix.RLIMIT_CORE, &core)
		return fmt.Sprint(data.Max, files.Max, core.Max)
	case "hold":
		holdLine(rest)
		return "held"
	case "fork":
		setsid, address, _ := strings.Cut(rest, " ")
		path, _ := os.Executable()
		child := exec.Command(path, "behave", "child", address)
		child.Stderr = os.Stderr
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid == "away"}
		return fmt.Sprint(child.Start())
	}
	return "what?"
}

// oddPartitioner obeys the first key.
type oddPartitioner struct{}

func (oddPartitioner) Assign(ctx context.Context, r *partitioner.Request, out []int32) error {
	switch order := string(r.Keys[0]); order {
	case "exit":
		os.Exit(5)
	case "panic":
		panic("told to")
	case "hang":
		fmt.Fprintln(os.Stderr, "hanging")
		select {}
	case "wait":
		fmt.Fprintln(os.Stderr, "waiting")
		<-ctx.Done()
		return ctx.Err()
	case "print raw": // past os.Stdout, as a library in C would
		_, err := unix.Write(1, []byte(strings.Repeat("w", 1<<20)+"\nraw end\n"))
		return err
	case "print":
		fmt.Println(strings.Repeat("z", 1<<20))
		for i := range 10_000 {
			fmt.Println("line", i)
		}
	case "allocate":
		var all [][]byte
		for {
			block := make([]byte, 16<<20)
			for i := range block {
				block[i] = 1
			}
			all = append(all, block)
			if len(all) > 256 {
				return fmt.Errorf("got %d blocks", len(all))
			}
		}
	case "out of range":
		out[0] = r.Partitions
	}
	return nil
}
