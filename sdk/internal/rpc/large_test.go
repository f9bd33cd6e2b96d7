package rpc

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/internal/pluginpb"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// shouter answers with more than its questions ask for.
type shouter struct {
	pluginpb.UnimplementedPartitionerServer
	pluginpb.UnimplementedAuthenticatorServer
	pluginpb.UnimplementedAuthorizerServer
	pluginpb.UnimplementedRetentionServer
}

func (shouter) Assign(context.Context, *pluginpb.AssignRequest) (*pluginpb.AssignResponse, error) {
	return &pluginpb.AssignResponse{Partitions: make([]int32, maxPlacesBytes)}, nil
}

func (shouter) VerifyPassword(context.Context, *pluginpb.VerifyPasswordRequest) (*pluginpb.VerifyPasswordResponse, error) {
	return &pluginpb.VerifyPasswordResponse{Result: &pluginpb.AuthResult{Nonce: make([]byte, maxResultBytes)}}, nil
}

func (shouter) ScramCredential(context.Context, *pluginpb.ScramCredentialRequest) (*pluginpb.ScramCredentialResponse, error) {
	return &pluginpb.ScramCredentialResponse{Salt: make([]byte, maxResultBytes)}, nil
}

func (shouter) Authorize(context.Context, *pluginpb.AuthorizeRequest) (*pluginpb.AuthorizeResponse, error) {
	return &pluginpb.AuthorizeResponse{Verdicts: make([]pluginpb.Verdict, maxPlacesBytes)}, nil
}

func (shouter) AuthorizeByResourceType(ctx context.Context, _ *pluginpb.AuthorizeByResourceTypeRequest) (*pluginpb.AuthorizeByResourceTypeResponse, error) {
	return nil, grpc.SetTrailer(ctx, metadata.Pairs("more", strings.Repeat("x", maxHeaderBytes)))
}

func (shouter) Decide(context.Context, *pluginpb.DecideRequest) (*pluginpb.DecideResponse, error) {
	return &pluginpb.DecideResponse{Verdicts: []*pluginpb.LogVerdict{{Reason: strings.Repeat("x", maxVerdictsBytes)}}}, nil
}

// TestAnswersBeyondTheirQuestions: many calls run at once, so an answer may not be as
// large as a message may, nor have headers without an end.
func TestAnswersBeyondTheirQuestions(t *testing.T) {
	c := talk(t, nil, func(g *grpc.Server) {
		pluginpb.RegisterPartitionerServer(g, shouter{})
		pluginpb.RegisterAuthenticatorServer(g, shouter{})
		pluginpb.RegisterAuthorizerServer(g, shouter{})
		pluginpb.RegisterRetentionServer(g, shouter{})
	})
	all := plugin.Description{Features: allFeatures}
	places, who := newPartitioner(c, "1"), newAuthenticator(c, "1", all)
	may, what := newAuthorizer(c, "1", all), newRetention(c, "1", all)
	ctx, peer := t.Context(), &auth.Peer{}
	for name, call := range map[string]struct {
		ask  func() error
		want error
	}{
		"partitions":   {func() error { return places.Assign(ctx, &partitioner.Request{Partitions: 1}, nil) }, plugin.ErrTooLarge},
		"a result":     {func() error { _, err := who.VerifyPassword(ctx, peer, "u", nil); return err }, plugin.ErrTooLarge},
		"a credential": {func() error { _, err := who.ScramCredential(ctx, peer, "u"); return err }, plugin.ErrTooLarge},
		"decisions":    {func() error { return may.Authorize(ctx, &auth.Client{}, nil, nil) }, plugin.ErrTooLarge},
		"verdicts":     {func() error { _, err := what.Decide(ctx, nil); return err }, plugin.ErrTooLarge},
		"headers": {func() error {
			_, err := may.AuthorizeByResourceType(ctx, &auth.Client{}, auth.OpRead, auth.Topic)
			return err
		}, plugin.ErrBadAnswer},
	} {
		if err := call.ask(); !errors.Is(err, call.want) {
			t.Errorf("%s: %v, want %v", name, err, call.want)
		}
	}
}
