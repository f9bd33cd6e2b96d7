package api

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
)

// ApiVersions (key 18), versions 0–5, and an answer for every other version.
//
// Behaviour, in this order: a version that is not known is answered in version 0
// with UNSUPPORTED_VERSION and the one range of this key, its body unread
// (KIP-511); from version 3 on a bad software name is INVALID_REQUEST; from version
// 5 on a client that believes to be somewhere else is told to bootstrap again
// (KIP-1242); then the table. Up to version 3 features whose least level is 0 are
// left out, because old clients can't read them (KAFKA-17011).
//
// As in Kafka, telemetry (71, 72) is shown only where somebody takes it: clients that
// see it ask at once.

// softwareName is what a client may call itself.
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

// apiVersions answers key 18 in any version.
func (a *API) apiVersions(r *wire.Request) {
	resp := kmsg.NewPtrApiVersionsResponse()
	own := a.table.find(wire.KeyAPIVersions)
	if r.Version < own.min || r.Version > own.max {
		resp.ErrorCode = int16(kafka.ErrUnsupportedVersion)
		resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{shownVersions(own)}
		r.ReplyVersion(resp, 0)
		return
	}
	q := kmsg.NewApiVersionsRequest()
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	img := a.image()
	if refused := a.refuseAPIVersions(img, &q); refused != kafka.None {
		resp.ErrorCode = int16(refused)
		r.ReplyMessage(resp)
		return
	}
	if q.Version >= 3 {
		r.Conn.SetSoftware(q.ClientSoftwareName, q.ClientSoftwareVersion)
	}
	for i := range a.table.entries {
		resp.ApiKeys = append(resp.ApiKeys, shownVersions(&a.table.entries[i]))
	}
	addFeatures(resp, img, q.Version)
	r.ReplyMessage(resp)
}

// shownVersions is a key's range for clients.
func shownVersions(e *entry) kmsg.ApiVersionsResponseApiKey {
	return kmsg.ApiVersionsResponseApiKey{ApiKey: e.key, MinVersion: e.advertisedMin, MaxVersion: e.max}
}

// refuseAPIVersions finds what is wrong with a request.
func (a *API) refuseAPIVersions(img *meta.Image, q *kmsg.ApiVersionsRequest) kafka.ErrorCode {
	if q.Version >= 3 && !(softwareName.MatchString(q.ClientSoftwareName) && softwareName.MatchString(q.ClientSoftwareVersion)) {
		return kafka.ErrInvalidRequest
	}
	if q.Version < 5 {
		return kafka.None
	}
	switch {
	case (q.ClusterID == nil) != (q.NodeID == int32(kafka.NoBroker)):
		return kafka.ErrInvalidRequest
	case q.ClusterID == nil:
		return kafka.None
	case *q.ClusterID != img.ClusterID, q.NodeID != int32(a.deps.Self):
		return kafka.ErrRebootstrapRequired
	}
	return kafka.None
}

// addFeatures adds the features of this build and those of the cluster.
func addFeatures(resp *kmsg.ApiVersionsResponse, img *meta.Image, version int16) {
	for _, f := range meta.SupportedFeatures() {
		if f.Min > 0 || version > 3 {
			resp.SupportedFeatures = append(resp.SupportedFeatures,
				kmsg.ApiVersionsResponseSupportedFeature{Name: f.Name, MinVersion: f.Min, MaxVersion: f.Max})
		}
	}
	resp.FinalizedFeaturesEpoch = int64(img.Index)
	for name, level := range img.Features() {
		resp.FinalizedFeatures = append(resp.FinalizedFeatures,
			kmsg.ApiVersionsResponseFinalizedFeature{Name: name, MinVersionLevel: level, MaxVersionLevel: level})
	}
	slices.SortFunc(resp.FinalizedFeatures, func(x, y kmsg.ApiVersionsResponseFinalizedFeature) int {
		return cmp.Compare(x.Name, y.Name)
	})
}
