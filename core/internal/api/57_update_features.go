package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// UpdateFeatures (key 57), versions 0–2.
//
// Behaviour: all updates of a request or none; a refusal is the error of the whole
// request and names the update that caused it.

// updateFeatures answers key 57.
func (a *API) updateFeatures(r *wire.Request) {
	q := new(kmsg.UpdateFeaturesRequest)
	if err := wire.DecodeMessage(r, q); err != nil {
		r.Drop(err)
		return
	}
	if !a.authorizeCluster(r, OpAlter) {
		resp := kmsg.NewPtrUpdateFeaturesResponse()
		resp.ErrorCode = int16(kafka.ErrClusterAuthorizationFailed)
		resp.ErrorMessage = kmsg.StringPtr(kafka.ErrClusterAuthorizationFailed.Text())
		r.ReplyMessage(resp)
		return
	}
	a.later(r, func(ctx context.Context) {
		ctx, stop := withTimeout(ctx, q.TimeoutMillis)
		defer stop()
		r.ReplyMessage(a.updateFeaturesNow(ctx, r, q))
	})
}

// updateFeaturesNow has the cluster decide.
func (a *API) updateFeaturesNow(ctx context.Context, r *wire.Request, q *kmsg.UpdateFeaturesRequest) *kmsg.UpdateFeaturesResponse {
	resp := kmsg.NewPtrUpdateFeaturesResponse()
	if len(q.FeatureUpdates) == 0 {
		return resp
	}
	results, err := a.deps.Control.UpdateFeatures(ctx, featureUpdates(q), q.ValidateOnly)
	if err != nil {
		why := a.refusal(err)
		resp.ErrorCode, resp.ErrorMessage = a.code(r, why), fullText(why)
		return resp
	}
	for _, why := range results {
		if why != nil {
			text := "The update failed for all features since the following feature had an error: " + *fullText(why)
			resp.ErrorCode, resp.ErrorMessage = a.code(r, why), &text
			return resp
		}
	}
	for i := range q.FeatureUpdates {
		resp.Results = append(resp.Results, kmsg.UpdateFeaturesResponseResult{
			Feature: q.FeatureUpdates[i].Feature, ErrorMessage: kmsg.StringPtr(kafka.None.String())})
	}
	return resp
}

// featureUpdates turns a request into updates. Version 0 knew only whether a level
// may go down.
func featureUpdates(q *kmsg.UpdateFeaturesRequest) []meta.FeatureUpdate {
	out := make([]meta.FeatureUpdate, len(q.FeatureUpdates))
	for i := range q.FeatureUpdates {
		f := &q.FeatureUpdates[i]
		out[i] = meta.FeatureUpdate{Name: f.Feature, Level: f.MaxVersionLevel, Downgrade: meta.DowngradeKind(f.UpgradeType)}
		if q.Version == 0 {
			out[i].Downgrade = meta.UpgradeOnly
			if f.AllowDowngrade {
				out[i].Downgrade = meta.SafeDowngrade
			}
		}
	}
	return out
}
