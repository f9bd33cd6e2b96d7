package api

import "github.com/mortisemq/mortise/core/wire"

// Operation is what somebody wants to do, by the protocol's numbers
// (AclOperation).
type Operation int8

// The operations.
const (
	OpRead            Operation = 3
	OpWrite           Operation = 4
	OpCreate          Operation = 5
	OpDelete          Operation = 6
	OpAlter           Operation = 7
	OpDescribe        Operation = 8
	OpClusterAction   Operation = 9
	OpDescribeConfigs Operation = 10
	OpAlterConfigs    Operation = 11
	OpIdempotentWrite Operation = 12
)

// ResourceType is what it is done to, by the protocol's numbers (ResourceType of
// ACLs).
type ResourceType int8

// The types of resources.
const (
	ResourceTopic           ResourceType = 2
	ResourceGroup           ResourceType = 3
	ResourceCluster         ResourceType = 4
	ResourceTransactionalID ResourceType = 5
)

// clusterResourceName is the name of the one resource of type ResourceCluster.
const clusterResourceName = "kafka-cluster"

// Authorizer says who may do what. It is asked for every request, so that it must
// be quick; it must not keep conn.
type Authorizer interface {
	// Allowed says whether the client of a connection (conn.Principal, from
	// conn.Remote) may do op to the resource.
	Allowed(conn *wire.ConnInfo, op Operation, t ResourceType, name string) bool
}

// authorize asks whether the sender of r may do something.
func (a *API) authorize(r *wire.Request, op Operation, t ResourceType, name string) bool {
	return a.deps.Authorizer == nil || a.deps.Authorizer.Allowed(r.Conn, op, t, name)
}

// authorizeCluster is authorize for the cluster.
func (a *API) authorizeCluster(r *wire.Request, op Operation) bool {
	return a.authorize(r, op, ResourceCluster, clusterResourceName)
}

// allowedOperations are the operations on a resource that the sender may do: one
// bit for each number.
func (a *API) allowedOperations(r *wire.Request, t ResourceType, name string) int32 {
	all := []Operation{OpRead, OpWrite, OpCreate, OpDelete, OpAlter, OpDescribe, OpDescribeConfigs, OpAlterConfigs}
	switch t {
	case ResourceCluster:
		all = []Operation{OpCreate, OpAlter, OpDescribe, OpClusterAction, OpDescribeConfigs, OpAlterConfigs, OpIdempotentWrite}
	case ResourceGroup:
		all = []Operation{OpRead, OpDelete, OpDescribe, OpDescribeConfigs, OpAlterConfigs}
	}
	var bits int32
	for _, op := range all {
		if a.authorize(r, op, t, name) {
			bits |= 1 << op
		}
	}
	return bits
}
