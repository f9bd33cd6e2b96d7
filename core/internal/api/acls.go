package api

import (
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
)

// refuseACLs says why access rules can't be looked at or changed; nil: they can.
// Without an authorizer that goes by them they would protect nothing.
func (a *API) refuseACLs(r *wire.Request, op Operation) *kafka.Error {
	switch {
	case !a.authorizeCluster(r, op):
		return kafka.ErrClusterAuthorizationFailed.Err("")
	case a.deps.Authorizer == nil || !a.deps.Authorizer.TakesRules():
		return kafka.ErrSecurityDisabled.Err("No Authorizer is configured.")
	}
	return nil
}

// errACLFilter is a filter with something that is not of this protocol.
var errACLFilter = errors.New("access rule filter with an unknown type")

// aclFilter is the filter of a request.
func aclFilter(f *kmsg.DeleteACLsRequestFilter) (meta.ACLFilter, error) {
	filter := meta.ACLFilter{Resource: auth.ResourceType(f.ResourceType), Name: f.ResourceName,
		Pattern: auth.PatternType(f.ResourcePatternType), Principal: f.Principal, Host: f.Host,
		Operation: auth.Operation(f.Operation), Permission: auth.Permission(f.PermissionType)}
	switch {
	case filter.Resource < auth.AnyResource || filter.Resource > auth.User,
		filter.Pattern < meta.AnyPattern || filter.Pattern > auth.Prefixed,
		filter.Operation < auth.OpAny || filter.Operation > auth.OpTwoPhaseCommit,
		filter.Permission < meta.AnyPermission || filter.Permission > auth.PermissionAllow:
		return filter, fmt.Errorf("%w: resource type %d, pattern type %d, operation %d, permission %d",
			errACLFilter, filter.Resource, filter.Pattern, filter.Operation, filter.Permission)
	}
	return filter, nil
}

// aclRule is the rule of a request. The text is Kafka's for one that can't be made;
// empty: it can.
func aclRule(c *kmsg.CreateACLsRequestCreation) (auth.Rule, string) {
	r := auth.Rule{Resource: auth.ResourceType(c.ResourceType), Name: c.ResourceName,
		Pattern: auth.PatternType(c.ResourcePatternType), Principal: c.Principal, Host: c.Host,
		Operation: auth.Operation(c.Operation), Permission: auth.Permission(c.PermissionType)}
	switch {
	case r.Resource == auth.Cluster && r.Name != auth.ClusterName:
		return r, "The only valid name for the CLUSTER resource is " + auth.ClusterName
	case r.Name == "":
		return r, "Invalid empty resource name"
	case r.Resource < auth.Topic || r.Resource > auth.User:
		return r, "Invalid resourceType " + c.ResourceType.String()
	case r.Pattern != auth.Literal && r.Pattern != auth.Prefixed:
		return r, "Invalid patternType " + c.ResourcePatternType.String()
	case r.Operation < auth.OpAll || r.Operation > auth.OpTwoPhaseCommit:
		return r, "Invalid operation " + c.Operation.String()
	case r.Permission != auth.PermissionAllow && r.Permission != auth.PermissionDeny:
		return r, "Invalid permissionType " + c.PermissionType.String()
	case r.Host == "":
		return r, "Host pattern cannot be null or empty"
	case !strings.Contains(r.Principal, ":"):
		return r, fmt.Sprintf("Could not parse principal from `%s` (no colon is present separating the principal type from the principal name)", r.Principal)
	}
	return r, ""
}
