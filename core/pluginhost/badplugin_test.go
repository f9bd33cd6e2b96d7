package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mortisemq/mortise/sdk"
	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// TestMain is the tests, or, started by one of them, a plugin's process or a broker's.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "plugin":
			beBadPlugin(os.Args[2])
		case "broker":
			beBroker(os.Args[2])
		}
	}
	goleak.VerifyTestMain(m)
}

// badConfig is the config of the bad plugin.
type badConfig struct {
	// Fault happens in each call that is no canary.
	Fault string `json:"fault"`
	// Alive is a socket that is told who lives: its connection ends with the process.
	Alive string `json:"alive"`
}

// beBadPlugin is a process with a plugin of each kind; start is what happens before
// it serves.
func beBadPlugin(start string) {
	switch start {
	case "exit":
		os.Exit(0)
	case "hang":
		select {}
	case "garbage":
		fmt.Println("Welcome to the plugin!")
	}
	var all []plugin.Plugin
	for _, kind := range plugin.Kinds() {
		all = append(all, plugin.Plugin{
			Kind: kind, Name: "p", Version: "1.0.0", Features: []string{auth.FeaturePassword},
			Validate: func(c json.RawMessage) error { return plugin.Decode(c, &badConfig{}) },
			New: plugin.Typed(func(_ context.Context, c plugin.Config) (*bad, error) {
				b := &bad{}
				if err := c.Decode(&b.config); err != nil {
					return nil, err
				}
				return b, b.live()
			}),
		})
	}
	sdk.Serve(all...)
}

// bad is an instance of any kind.
type bad struct {
	config badConfig
	alive  *net.UnixConn
	hoard  [][]byte
}

// live tells the test of this process.
func (b *bad) live() error {
	if b.config.Alive == "" {
		return nil
	}
	c, err := net.Dial("unix", b.config.Alive)
	if err != nil {
		return err
	}
	b.alive = c.(*net.UnixConn)
	_, err = fmt.Fprintln(c, os.Getpid())
	return err
}

// fail does the fault unless the question is a canary; true: the answer shall be
// wrong.
func (b *bad) fail(about string) (lie bool, err error) {
	if strings.HasPrefix(about, canaryName) {
		return false, nil
	}
	switch b.config.Fault {
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "exit":
		os.Exit(0)
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {} // until it reaches every thread
	case "hang":
		select {}
	case "late":
		time.Sleep(1500 * time.Millisecond)
	case "panic":
		panic("at the disco")
	case "error":
		return false, fmt.Errorf("no such thing")
	case "lie":
		return true, nil
	case "noise":
		for range 50 {
			fmt.Fprintln(os.Stderr, `{"@level":5,"@message":{},"@timestamp":[]}`)
			fmt.Fprintln(os.Stderr, "panic: \x1b[2J\xff not really")
			fmt.Fprintln(os.Stdout, strings.Repeat("y", 1<<16))
		}
	case "grow":
		for range 16 {
			block := make([]byte, 1<<20)
			for i := range block {
				block[i] = byte(i)
			}
			b.hoard = append(b.hoard, block)
		}
	case "fork":
		file, err := b.alive.File()
		if err != nil {
			return false, err
		}
		child := exec.Command("/bin/sleep", "600")
		child.ExtraFiles = []*os.File{file}
		if err := child.Start(); err != nil {
			return false, err
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return false, nil
}

func (b *bad) Assign(_ context.Context, r *partitioner.Request, out []int32) error {
	lie, err := b.fail(r.Topic)
	for i, key := range r.Keys {
		out[i] = int32(len(key)) % r.Partitions
		if lie {
			out[i] += r.Partitions
		}
	}
	return err
}

func (b *bad) VerifyPassword(_ context.Context, p *auth.Peer, user string, _ []byte) (auth.Result, error) {
	lie, err := b.fail(user)
	r := auth.Result{Nonce: p.Nonce}
	if user == "alice" {
		r.Outcome, r.PrincipalType, r.PrincipalName = auth.Accept, "User", user
	}
	if lie {
		r.Nonce = []byte("another")
	}
	if b.config.Fault == "large" && user == "alice" {
		r.Groups = large()
	}
	return r, err
}

func (b *bad) ScramCredential(context.Context, *auth.Peer, string) (auth.ScramCredential, error) {
	return auth.ScramCredential{}, auth.ErrUnsupported
}

func (b *bad) ValidateToken(context.Context, *auth.Peer, []byte) (auth.Result, error) {
	return auth.Result{}, auth.ErrUnsupported
}

func (b *bad) MapCertificate(context.Context, *auth.Peer, [][]byte) (auth.Result, error) {
	return auth.Result{}, auth.ErrUnsupported
}

func (b *bad) Authorize(_ context.Context, c *auth.Client, actions []auth.Action, out []auth.Decision) error {
	lie, err := b.fail(c.PrincipalName)
	for i, a := range actions {
		if a.Operation == auth.OpRead {
			out[i] = auth.Decision{Verdict: auth.Allow, CacheTTL: time.Minute}
		}
		if lie {
			out[i].Verdict = 77
		}
	}
	return err
}

func (b *bad) AuthorizeByResourceType(context.Context, *auth.Client, auth.Operation, auth.ResourceType) (auth.Decision, error) {
	return auth.Decision{}, nil
}

func (b *bad) Watch(ctx context.Context, send func(auth.Event) error) error {
	if err := send(auth.Event{Epoch: 1}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (b *bad) Decide(_ context.Context, logs []storage.LogFacts) ([]storage.Verdict, error) {
	lie, err := b.fail(logs[0].Topic)
	var out []storage.Verdict
	for _, l := range logs {
		v := storage.Verdict{Topic: l.Topic, Partition: l.Partition, LeaderEpoch: l.LeaderEpoch}
		if lie {
			v.LeaderEpoch, v.DeleteOldest = v.LeaderEpoch-1, 1
		}
		out = append(out, v)
	}
	if b.config.Fault == "large" && logs[0].Topic != canaryName {
		for _, t := range large() {
			out = append(out, storage.Verdict{Topic: t})
		}
	}
	return out, err
}

// large is more than a message may have.
func large() []string {
	all := make([]string, 1024)
	for i := range all {
		all[i] = strings.Repeat("x", 10<<10)
	}
	return all
}
