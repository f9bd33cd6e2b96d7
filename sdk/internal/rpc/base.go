package rpc

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"

	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// Client is the asking side of one connection.
type Client struct {
	conn     grpc.ClientConnInterface
	base     pluginpb.PluginBaseClient
	requests atomic.Uint64
}

// NewClient asks over conn.
func NewClient(conn grpc.ClientConnInterface) *Client {
	return &Client{conn: conn, base: pluginpb.NewPluginBaseClient(conn)}
}

// DialOptions are what a connection to a plugin needs: limits of size, no retries,
// no settings from elsewhere.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(MaxMessageBytes),
			grpc.MaxCallSendMsgSize(MaxMessageBytes)),
		grpc.WithMaxHeaderListSize(maxHeaderBytes),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
	}
}

// meta begins a call about an instance.
func (c *Client) meta(instance string) *pluginpb.CallMeta {
	return &pluginpb.CallMeta{InstanceId: instance, RequestId: c.requests.Add(1)}
}

// ask makes one call, within limit if the caller set no deadline.
func ask[Q, A any](ctx context.Context, limit time.Duration, method func(context.Context, *Q, ...grpc.CallOption) (*A, error), q *Q, o ...grpc.CallOption) (*A, error) {
	ctx, cancel := bounded(ctx, limit)
	defer cancel()
	a, err := method(ctx, q, o...)
	if err != nil {
		return nil, ErrorOf(ctx, err)
	}
	return a, nil
}

// bounded gives ctx a deadline unless it has one.
func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}

// Describe asks which plugins the process has.
func (c *Client) Describe(ctx context.Context) ([]plugin.Description, error) {
	a, err := ask(ctx, describeTimeout, c.base.Describe, &pluginpb.DescribeRequest{ApiMinor: APIMinor})
	if err != nil {
		return nil, err
	}
	if n := len(a.Plugins); n == 0 || n > plugin.MaxDescriptions {
		return nil, badAnswer("%d descriptions: want 1 to %d", n, plugin.MaxDescriptions)
	}
	all := make([]plugin.Description, len(a.Plugins))
	for i, info := range a.Plugins {
		if all[i], err = description(info); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// description checks what a plugin says about itself. A kind that is not known is let
// through: a newer plugin may have one that nobody asks it for.
func description(info *pluginpb.PluginInfo) (plugin.Description, error) {
	d := plugin.Description{
		Kind: plugin.Kind(info.GetKind()), Name: info.GetName(), Version: info.GetVersion(),
		Summary: info.GetSummary(), Features: info.GetFeatures(),
	}
	long := slices.ContainsFunc(d.Features, func(f string) bool { return len(f) > plugin.MaxFeatureBytes })
	switch {
	case !plugin.ValidName(string(d.Kind)):
		return d, badAnswer("description of kind %q", plainText(string(d.Kind), 64))
	case !plugin.ValidName(d.Name):
		return d, badAnswer("description of a plugin named %q", plainText(d.Name, 64))
	case d.Version == "" || len(d.Version) > plugin.MaxVersionBytes || !isPlain(d.Version):
		return d, badAnswer("description of %s: version %q", d.Name, plainText(d.Version, 64))
	case len(d.Summary) > plugin.MaxSummaryBytes || plainText(d.Summary, plugin.MaxSummaryBytes) != d.Summary:
		return d, badAnswer("description of %s: a summary of %d bytes, or with control characters", d.Name, len(d.Summary))
	case len(d.Features) > plugin.MaxFeatures || long:
		return d, badAnswer("description of %s: too many or too long features", d.Name)
	case len(info.GetSchema()) > plugin.MaxSchemaBytes:
		return d, badAnswer("description of %s: schema of %d bytes", d.Name, len(info.GetSchema()))
	}
	if len(info.GetSchema()) > 0 {
		if !json.Valid(info.GetSchema()) {
			return d, badAnswer("description of %s: schema is not JSON", d.Name)
		}
		d.Schema = info.GetSchema()
	}
	return d, nil
}

// Validate asks whether a config could be used.
func (c *Client) Validate(ctx context.Context, kind plugin.Kind, name string, config json.RawMessage) error {
	if err := checkConfig(config); err != nil {
		return err
	}
	_, err := ask(ctx, configureTimeout, c.base.Validate, &pluginpb.ValidateRequest{Kind: string(kind), Name: name, Config: config})
	return err
}

// Configure makes the instance id of the described plugin and gives its contract,
// with every answer checked.
func (c *Client) Configure(ctx context.Context, id string, d plugin.Description, config plugin.Config) (any, error) {
	if err := checkConfig(config.JSON); err != nil {
		return nil, err
	}
	_, err := ask(ctx, configureTimeout, c.base.Configure, &pluginpb.ConfigureRequest{
		Meta: c.meta(id), Kind: string(d.Kind), Name: d.Name, Config: config.JSON,
		Instance: config.Instance, ClusterId: config.ClusterID, BrokerId: config.BrokerID,
	})
	if err != nil {
		return nil, err
	}
	return c.contract(id, d)
}

// Drain ends an instance.
func (c *Client) Drain(ctx context.Context, id string) error {
	_, err := ask(ctx, drainTimeout, c.base.Drain, &pluginpb.DrainRequest{Meta: c.meta(id)})
	return err
}

// Metrics asks for an instance's own metrics.
func (c *Client) Metrics(ctx context.Context, id string) ([]byte, error) {
	a, err := ask(ctx, metricsTimeout, c.base.Metrics, &pluginpb.MetricsRequest{Meta: c.meta(id)})
	switch {
	case err != nil:
		return nil, err
	case len(a.Text) > plugin.MaxMetricsBytes:
		return nil, badAnswer("%d bytes of metrics", len(a.Text))
	case !utf8.Valid(a.Text):
		return nil, badAnswer("metrics are not UTF-8")
	}
	return a.Text, nil
}

// checkConfig says whether a config may be sent.
func checkConfig(config json.RawMessage) error {
	if len(config) > plugin.MaxConfigBytes {
		return tooLarge("config of %d bytes: at most %d", len(config), plugin.MaxConfigBytes)
	}
	return nil
}
