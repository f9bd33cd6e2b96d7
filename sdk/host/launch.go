package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mortisemq/mortise/sdk/internal/handshake"
	"github.com/mortisemq/mortise/sdk/internal/rpc"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// ErrRunDir says that Command.RunDir is too long for a socket's path.
var ErrRunDir = errors.New("directory for plugins is too long for the path of a socket")

// What go-plugin adds to RunDir: "/pNNNNNNNNNN/plugin-dirNNNNNNNNNN/pluginNNNNNNNNNN".
const socketSuffix = 12 + 21 + 17

// maxSocketPath is how long the path of a socket may be.
func maxSocketPath() int {
	if runtime.GOOS == "linux" {
		return 107
	}
	return 103
}

// Launch starts the program and waits until it answers Describe, at most for
// StartTimeout and as long as ctx. An error names what the plugin did wrong and shows
// the end of its output; nothing of the process is left then.
func Launch(ctx context.Context, c Command) (*Process, error) {
	if c.StartTimeout <= 0 {
		c.StartTimeout = DefaultStartTimeout
	}
	if c.RunDir == "" {
		c.RunDir = os.TempDir()
	}
	runDir, err := filepath.Abs(c.RunDir)
	if err != nil {
		return nil, fmt.Errorf("directory for plugins: %w", err)
	}
	if len(runDir)+socketSuffix > maxSocketPath() {
		return nil, fmt.Errorf("%w: %s has %d bytes, at most %d", ErrRunDir, runDir, len(runDir), maxSocketPath()-socketSuffix)
	}
	program, err := openProgram(c)
	if err != nil {
		return nil, err
	}
	defer program.file.Close()
	base, err := os.MkdirTemp(runDir, "p")
	if err != nil {
		return nil, fmt.Errorf("directory for plugins: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.StartTimeout)
	defer cancel()
	p := &Process{run: newProcess(c, program, base)}
	if err := p.launch(ctx); err != nil {
		p.remove()
		return nil, fmt.Errorf("plugin %s: %w", c.Path, err)
	}
	return p, nil
}

// launch starts the process and proves that it answers.
func (p *Process) launch(ctx context.Context) error {
	identity, err := handshake.NewIdentity(time.Now())
	if err != nil {
		return err
	}
	p.client = goplugin.NewClient(p.config(identity))
	// go-plugin knows no context: it is over when the process is.
	defer context.AfterFunc(ctx, p.run.kill)()
	conn, err := dispense(p.client)
	if err == nil {
		p.remote = newRemote(conn)
		_, err = p.Describe(ctx)
	}
	if err == nil {
		go p.drainStdio(conn)
		return nil
	}
	if ctx.Err() == nil {
		p.run.awaitReason(ctx)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	err = p.run.explain(err)
	p.run.kill()
	return err
}

// config is go-plugin's configuration. Its AutoMTLS is not used because it makes P-521
// keys; the certificates travel as it would send them.
func (p *Process) config(identity *handshake.Identity) *goplugin.ClientConfig {
	return &goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: handshake.ProtocolVersion, MagicCookieKey: handshake.CookieKey, MagicCookieValue: handshake.CookieValue,
		},
		VersionedPlugins: map[int]goplugin.PluginSet{handshake.ProtocolVersion: {}},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
			protocol := append(cmd.Env, handshake.CertificateKey+"="+identity.PEM())
			return p.run, p.run.prepare(dir, protocol)
		},
		SkipHostEnv:      true,
		TLSConfig:        identity.Asker(),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: p.run.base},
		StartTimeout:     2 * p.run.command.StartTimeout, // launch's context comes first
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		GRPCDialOptions:  append(rpc.DialOptions(), grpc.WithChainStreamInterceptor(refuseStreams)),
		Logger:           hclog.NewNullLogger(), // any other parses the plugin's lines, and panics
	}
}

// refuseStreams keeps go-plugin from opening its own streams: the broker's lets a
// plugin fill the host's memory, and waiting for the one of standard output can't be
// interrupted. Both may be missing in any plugin.
func refuseStreams(ctx context.Context, d *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
	switch {
	case method == brokerMethod, method == stdioMethod && ctx.Value(ours{}) == nil:
		return nil, status.Error(codes.Unimplemented, "not used")
	}
	return open(ctx, d, conn, method, o...)
}

// dispense starts the process by go-plugin and gives the connection, which is not yet
// open. go-plugin panics in places where a plugin's handshake is odd.
func dispense(client *goplugin.Client) (conn *grpc.ClientConn, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: go-plugin: %v\n%s", plugin.ErrFailed, r, debug.Stack())
		}
	}()
	protocol, err := client.Client()
	if err != nil {
		return nil, err
	}
	c, ok := protocol.(*goplugin.GRPCClient)
	if !ok {
		return nil, fmt.Errorf("%w: protocol %T", handshake.ErrVersion, protocol)
	}
	return c.Conn, nil
}
