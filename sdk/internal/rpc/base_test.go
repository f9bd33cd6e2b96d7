package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// instance is a partitioner that a test sees into.
type instance struct {
	assign  func(ctx context.Context, r *partitioner.Request, out []int32) error
	closed  chan struct{}
	metrics string
}

func (i *instance) Assign(ctx context.Context, r *partitioner.Request, out []int32) error {
	if i.assign == nil {
		return nil
	}
	return i.assign(ctx, r, out)
}

func (i *instance) Close() error {
	close(i.closed)
	return nil
}

func (i *instance) Metrics(context.Context) ([]byte, error) { return []byte(i.metrics), nil }

// instances is a plugin that gives out what a test made.
func instances(made ...*instance) plugin.Plugin {
	next := 0
	return partitioner.Plugin(plugin.Plugin{Name: "p", Version: "1.0.0", Summary: "a test", Schema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, c plugin.Config) (partitioner.Partitioner, error) {
			if string(c.JSON) != "{}" {
				return nil, fmt.Errorf("key %s is not known", c.JSON)
			}
			i := made[next]
			i.closed = make(chan struct{})
			next++
			return i, nil
		})
}

func assignOne(ctx context.Context, p partitioner.Partitioner) error {
	return p.Assign(ctx, &partitioner.Request{Topic: "t", Partitions: 1, Keys: [][]byte{[]byte("k")}}, make([]int32, 1))
}

func TestDescribe(t *testing.T) {
	p := instances()
	c, _, _ := serve(t, p)
	got, err := c.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint([]plugin.Description{p.Describe()}) {
		t.Errorf("described %v, want %v", got, p.Describe())
	}
}

func TestConfigAndErrors(t *testing.T) {
	p := instances(&instance{}, &instance{})
	c, _, _ := serve(t, p)
	ctx := t.Context()
	if err := c.Validate(ctx, p.Kind, p.Name, json.RawMessage(`{"a":1}`)); !errors.Is(err, plugin.ErrConfig) || err.Error() != `plugin config: key {"a":1} is not known` {
		t.Errorf("validate: %v", err)
	}
	if err := c.Validate(ctx, p.Kind, p.Name, nil); err != nil {
		t.Errorf("validate nothing: %v", err)
	}
	if _, err := c.Configure(ctx, "x", p.Describe(), plugin.Config{JSON: json.RawMessage(`7`)}); !errors.Is(err, plugin.ErrConfig) {
		t.Errorf("configure: %v, want ErrConfig", err)
	}
	if err := c.Validate(ctx, p.Kind, "other", nil); !errors.Is(err, plugin.ErrUnsupported) {
		t.Errorf("another plugin: %v, want ErrUnsupported", err)
	}
	if err := c.Validate(ctx, p.Kind, p.Name, make([]byte, plugin.MaxConfigBytes+1)); !errors.Is(err, plugin.ErrTooLarge) {
		t.Errorf("a large config: %v, want ErrTooLarge", err)
	}
	configure[partitioner.Partitioner](t, c, p, "x")
	if _, err := c.Configure(ctx, "", p.Describe(), plugin.Config{}); !errors.Is(err, plugin.ErrFailed) {
		t.Errorf("instance without id: %v, want ErrFailed", err)
	}
	if _, err := c.Configure(ctx, "x", p.Describe(), plugin.Config{}); !errors.Is(err, plugin.ErrFailed) {
		t.Errorf("an id twice: %v, want ErrFailed", err)
	}
}

// TestDrain waits for the call that runs, closes once, and refuses the next.
func TestDrain(t *testing.T) {
	running, finish := make(chan struct{}), make(chan struct{})
	i := &instance{assign: func(context.Context, *partitioner.Request, []int32) error {
		close(running)
		<-finish
		return nil
	}}
	other := &instance{}
	p := instances(i, other)
	c, s, _ := serve(t, p)
	one, two := configure[partitioner.Partitioner](t, c, p, "1"), configure[partitioner.Partitioner](t, c, p, "2")
	answered, drained := make(chan error), make(chan error)
	go func() { answered <- assignOne(t.Context(), one) }()
	<-running
	go func() { drained <- c.Drain(t.Context(), "1") }()
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Drain(short, "1"); !errors.Is(err, context.Canceled) {
		t.Errorf("a drain that nobody waits for: %v", err)
	}
	for !drains(s, "1") { // as long as the first Drain is under way
		if err := assignOne(t.Context(), two); err != nil {
			t.Fatalf("another instance: %v", err)
		}
	}
	if err := assignOne(t.Context(), one); !errors.Is(err, plugin.ErrDrained) {
		t.Errorf("a call while it drains: %v, want ErrDrained", err)
	}
	select {
	case <-i.closed:
		t.Fatal("closed under a call")
	case err := <-drained:
		t.Fatalf("drained under a call: %v", err)
	default:
	}
	close(finish)
	if err := <-answered; err != nil {
		t.Errorf("the call that ran: %v", err)
	}
	if err := <-drained; err != nil {
		t.Errorf("drain: %v", err)
	}
	<-i.closed
	if err := c.Drain(t.Context(), "1"); err != nil {
		t.Errorf("a second drain: %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	<-other.closed
}

func drains(s *Server, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.instances[id] == nil || s.instances[id].draining
}

func TestMetrics(t *testing.T) {
	p := instances(&instance{metrics: "a 1\n"}, &instance{metrics: strings.Repeat("x", plugin.MaxMetricsBytes+1)})
	c, _, _ := serve(t, p)
	configure[partitioner.Partitioner](t, c, p, "1")
	configure[partitioner.Partitioner](t, c, p, "2")
	if text, err := c.Metrics(t.Context(), "1"); err != nil || string(text) != "a 1\n" {
		t.Errorf("metrics %q, %v", text, err)
	}
	if _, err := c.Metrics(t.Context(), "2"); !errors.Is(err, plugin.ErrTooLarge) {
		t.Errorf("large metrics: %v, want ErrTooLarge", err)
	}
}

// TestErrorsKeepTheirMeaning sends each error through a call.
func TestErrorsKeepTheirMeaning(t *testing.T) {
	var say error
	i := &instance{assign: func(context.Context, *partitioner.Request, []int32) error { return say }}
	p := instances(i)
	c, _, printed := serve(t, p)
	contract := configure[partitioner.Partitioner](t, c, p, "1")
	for _, want := range []error{
		plugin.ErrUnavailable, plugin.ErrDrained, plugin.ErrUnsupported, plugin.ErrConfig, plugin.ErrBadAnswer,
		plugin.ErrTooLarge, plugin.ErrFailed, context.DeadlineExceeded, plugin.ErrPanicked,
	} {
		say = fmt.Errorf("because: %w", want)
		if want == plugin.ErrPanicked {
			say = panicError{"oh"}
		}
		if err := assignOne(t.Context(), contract); !errors.Is(err, want) || errors.Is(err, plugin.ErrGone) {
			t.Errorf("%v became %v", want, err)
		}
	}
	say = errors.New("x\x00y\xff" + strings.Repeat("z", 4000))
	err := assignOne(t.Context(), contract)
	if !errors.Is(err, plugin.ErrFailed) || len(err.Error()) > plugin.MaxErrorTextBytes+50 || strings.Contains(err.Error(), "\x00") || !utf8.ValidString(err.Error()) {
		t.Errorf("an ugly error became %q", err)
	}
	i.assign = func(context.Context, *partitioner.Request, []int32) error { panic("at the disco") }
	if err := assignOne(t.Context(), contract); !errors.Is(err, plugin.ErrPanicked) || !strings.Contains(err.Error(), "at the disco (base_test.go:") {
		t.Errorf("a panic became %v", err)
	}
	i.assign = func(_ context.Context, r *partitioner.Request, _ []int32) error { _ = r.Keys[len(r.Keys)]; return nil }
	if err := assignOne(t.Context(), contract); !errors.Is(err, plugin.ErrPanicked) || !strings.Contains(err.Error(), "out of range [1] with length 1 (base_test.go:") {
		t.Errorf("a panic of the runtime became %v", err)
	}
	if !strings.Contains(printed.String(), "base_test.go") {
		t.Error("no stack was printed")
	}
}

// liar answers Describe and Metrics as a test says.
type liar struct {
	pluginpb.UnimplementedPluginBaseServer
	describe *pluginpb.DescribeResponse
	metrics  []byte
}

func (l liar) Describe(context.Context, *pluginpb.DescribeRequest) (*pluginpb.DescribeResponse, error) {
	return l.describe, nil
}

func (l liar) Metrics(context.Context, *pluginpb.MetricsRequest) (*pluginpb.MetricsResponse, error) {
	return &pluginpb.MetricsResponse{Text: l.metrics}, nil
}

func TestBadDescriptions(t *testing.T) {
	good := func() *pluginpb.PluginInfo {
		return &pluginpb.PluginInfo{Kind: "partitioner", Name: "p", Version: "1.0.0"}
	}
	with := func(change func(*pluginpb.PluginInfo)) []*pluginpb.PluginInfo {
		info := good()
		change(info)
		return []*pluginpb.PluginInfo{info}
	}
	for name, infos := range map[string][]*pluginpb.PluginInfo{
		"none":             nil,
		"too many":         make([]*pluginpb.PluginInfo, plugin.MaxDescriptions+1),
		"no kind":          with(func(i *pluginpb.PluginInfo) { i.Kind = "" }),
		"name with a path": with(func(i *pluginpb.PluginInfo) { i.Name = "../p" }),
		"no version":       with(func(i *pluginpb.PluginInfo) { i.Version = "" }),
		"long version":     with(func(i *pluginpb.PluginInfo) { i.Version = strings.Repeat("1", 65) }),
		"long summary":     with(func(i *pluginpb.PluginInfo) { i.Summary = strings.Repeat("s", 257) }),
		"odd summary":      with(func(i *pluginpb.PluginInfo) { i.Summary = "\x1b[2J" }),
		"many features":    with(func(i *pluginpb.PluginInfo) { i.Features = make([]string, 65) }),
		"long feature":     with(func(i *pluginpb.PluginInfo) { i.Features = []string{strings.Repeat("f", 65)} }),
		"long schema":      with(func(i *pluginpb.PluginInfo) { i.Schema = make([]byte, plugin.MaxSchemaBytes+1) }),
		"schema no JSON":   with(func(i *pluginpb.PluginInfo) { i.Schema = []byte("{") }),
	} {
		c := talk(t, nil, func(g *grpc.Server) {
			pluginpb.RegisterPluginBaseServer(g, liar{describe: &pluginpb.DescribeResponse{Plugins: infos}})
		})
		if got, err := c.Describe(t.Context()); !errors.Is(err, plugin.ErrBadAnswer) {
			t.Errorf("%s: %v, %v; want ErrBadAnswer", name, got, err)
		}
	}
}

// TestLargeAnswers refuses what is larger than a message may be, and text that is none.
func TestLargeAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		text []byte
		want error
	}{
		"9 MiB":    {make([]byte, 9<<20), plugin.ErrTooLarge},
		"2 MiB":    {make([]byte, 2<<20), plugin.ErrBadAnswer},
		"no UTF-8": {[]byte{0xff}, plugin.ErrBadAnswer},
	} {
		client := talk(t, nil, func(g *grpc.Server) { pluginpb.RegisterPluginBaseServer(g, liar{metrics: c.text}) })
		if _, err := client.Metrics(t.Context(), "x"); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestNewServerRefuses(t *testing.T) {
	p := instances()
	for name, plugins := range map[string][]plugin.Plugin{
		"none":    {},
		"twice":   {p, p},
		"no New":  {{Kind: plugin.Partitioner, Name: "x", Version: "1"}},
		"a crowd": make([]plugin.Plugin, plugin.MaxDescriptions+1),
	} {
		if _, err := NewServer(plugins, "", nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestStatusOfConnection tells a connection that ended from what a plugin says.
func TestStatusOfConnection(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		code codes.Code
		want error
	}{
		{t.Context(), codes.Unavailable, plugin.ErrGone},
		{t.Context(), codes.Canceled, plugin.ErrGone},
		{done, codes.Canceled, context.Canceled},
		{t.Context(), codes.Internal, plugin.ErrBadAnswer},
		{t.Context(), codes.Code(99), plugin.ErrFailed},
	} {
		if err := ErrorOf(c.ctx, status.Error(c.code, "x")); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.code, err, c.want)
		}
	}
}
