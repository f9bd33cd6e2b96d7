package api

import (
	"iter"
	"slices"

	"github.com/mortisemq/mortise/core/internal/security"
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
)

// Operation is what somebody wants to do.
type Operation = auth.Operation

// The operations of the keys that are answered here.
const (
	OpRead            = auth.OpRead
	OpWrite           = auth.OpWrite
	OpCreate          = auth.OpCreate
	OpDelete          = auth.OpDelete
	OpAlter           = auth.OpAlter
	OpDescribe        = auth.OpDescribe
	OpClusterAction   = auth.OpClusterAction
	OpDescribeConfigs = auth.OpDescribeConfigs
	OpAlterConfigs    = auth.OpAlterConfigs
	OpIdempotentWrite = auth.OpIdempotentWrite
)

// ResourceType is what it is done to.
type ResourceType = auth.ResourceType

// The types of resources.
const (
	ResourceTopic           = auth.Topic
	ResourceGroup           = auth.Group
	ResourceCluster         = auth.Cluster
	ResourceTransactionalID = auth.TransactionalID
)

// clusterResourceName is the name of the one resource of type ResourceCluster.
const clusterResourceName = auth.ClusterName

// Authorizer says who may do what: a *security.Authorizer, or a test's.
type Authorizer interface {
	Allowed(conn *wire.ConnInfo, key int16, op Operation, t ResourceType, name string) security.Answer
	AllowedByType(conn *wire.ConnInfo, key int16, op Operation, t ResourceType) security.Answer
	AllowedAll(conn *wire.ConnInfo, key int16, op Operation, t ResourceType, names []string) []security.Answer
	TakesRules() bool
}

var _ Authorizer = (*security.Authorizer)(nil)

// authorize asks whether the sender of r may do something. When that can't be found
// out the answer is no, and r is spoiled: what is answered does not leave, the
// connection closes, and the client tries again.
func (a *API) authorize(r *wire.Request, op Operation, t ResourceType, name string) bool {
	if a.deps.Authorizer == nil {
		return true
	}
	return permitted(r, a.deps.Authorizer.Allowed(r.Conn, r.Key, op, t, name))
}

// authorizeAny asks whether the sender may do op to at least one resource of a type.
func (a *API) authorizeAny(r *wire.Request, op Operation, t ResourceType) bool {
	if a.deps.Authorizer == nil {
		return true
	}
	return permitted(r, a.deps.Authorizer.AllowedByType(r.Conn, r.Key, op, t))
}

// hides says that the sender may not do op to a topic that could not be found, so that
// it is not told whether there is one. An id that nobody has hides nothing.
func (a *API) hides(r *wire.Request, op Operation, byID bool, name []byte, id kafka.TopicID) bool {
	if !byID {
		return !a.authorize(r, op, ResourceTopic, string(name))
	}
	t, known := a.image().TopicByID(id)
	return known && !a.authorize(r, op, ResourceTopic, t.Name)
}

// authorizeAll is authorize for many names, which may stand there more than once: the
// answer says whether the sender may do op to one of them.
func (a *API) authorizeAll(r *wire.Request, op Operation, t ResourceType, names iter.Seq[string]) func(name string) bool {
	if a.deps.Authorizer == nil {
		return func(string) bool { return true }
	}
	all := slices.Collect(names)
	may := make(map[string]bool, len(all))
	for n, answer := range a.deps.Authorizer.AllowedAll(r.Conn, r.Key, op, t, all) {
		may[all[n]] = permitted(r, answer)
	}
	return func(name string) bool { return may[name] }
}

// permitted turns an answer into yes or no.
func permitted(r *wire.Request, answer security.Answer) bool {
	if answer == security.Unknown {
		r.Spoil(security.ErrUnavailable)
	}
	return answer == security.Yes
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
