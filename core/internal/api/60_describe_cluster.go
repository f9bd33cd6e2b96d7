package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
)

// DescribeCluster (key 60), versions 0–2.
//
// Behaviour: cluster id, controller, and the brokers with their addresses on the
// listener that the client came in by; fenced ones only when asked for (version 2).
// Every listener is a broker's: whoever asks for controllers is told so.

// Types of endpoints.
const (
	endpointBroker     int8 = 1
	endpointController int8 = 2
)

// describeCluster answers key 60.
func (a *API) describeCluster(r *wire.Request) {
	q := kmsg.NewDescribeClusterRequest()
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrDescribeClusterResponse()
	if why := refuseEndpoint(&q); why != nil {
		resp.ErrorCode, resp.ErrorMessage = a.code(r, why), &why.Message
		r.ReplyMessage(resp)
		return
	}
	img := a.image()
	resp.ClusterID = img.ClusterID
	resp.ControllerID = int32(a.controllerFor(nodes(img, r.Conn.Listener, false)))
	for _, n := range nodes(img, r.Conn.Listener, q.IncludeFencedBrokers) {
		b := kmsg.NewDescribeClusterResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack, b.IsFenced = int32(n.id), n.endpoint.Host, n.endpoint.Port, n.rack, n.fenced
		resp.Brokers = append(resp.Brokers, b)
	}
	if q.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = 0
		if a.authorizeCluster(r, OpDescribe) {
			resp.ClusterAuthorizedOperations = a.allowedOperations(r, ResourceCluster, clusterResourceName)
		}
	}
	r.ReplyMessage(resp)
}

// refuseEndpoint says what is wrong with the type of endpoint that is asked for.
func refuseEndpoint(q *kmsg.DescribeClusterRequest) *kafka.Error {
	switch {
	case q.Version == 0 || q.EndpointType == endpointBroker:
		return nil
	case q.EndpointType == endpointController:
		return kafka.ErrMismatchedEndpointType.Err("The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
	}
	return kafka.ErrUnsupportedEndpointType.Err(fmt.Sprintf("Unsupported endpoint type %d", q.EndpointType))
}
