package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/wire"
	"github.com/mortisemq/mortise/sdk/auth"
)

// DescribeAcls (key 29), versions 1–3.
//
// Behaviour: the access rules that a filter chooses, grouped by resource pattern.
// SECURITY_DISABLED when no authorizer goes by the cluster's rules. A filter with
// something unknown closes the connection.

// describeACLs answers key 29.
func (a *API) describeACLs(r *wire.Request) {
	var q kmsg.DescribeACLsRequest
	if err := wire.DecodeMessage(r, &q); err != nil {
		r.Drop(err)
		return
	}
	resp := kmsg.NewPtrDescribeACLsResponse()
	filter, bad := aclFilter(&kmsg.DeleteACLsRequestFilter{ResourceType: q.ResourceType, ResourceName: q.ResourceName,
		ResourcePatternType: q.ResourcePatternType, Principal: q.Principal, Host: q.Host, Operation: q.Operation, PermissionType: q.PermissionType})
	if bad != nil { // as in Kafka
		r.Drop(bad)
		return
	}
	resp.ErrorMessage = kmsg.StringPtr("")
	if why := a.refuseACLs(r, OpDescribe); why != nil {
		resp.ErrorCode, resp.ErrorMessage = a.code(r, why), fullText(why)
		r.ReplyMessage(resp)
		return
	}
	resp.Resources = describeRules(a.image().MatchingACLs(&filter))
	r.ReplyMessage(resp)
}

// describeRules groups rules by resource pattern.
func describeRules(rules []auth.Rule) []kmsg.DescribeACLsResponseResource {
	type pattern struct {
		resource auth.ResourceType
		pattern  auth.PatternType
		name     string
	}
	at := map[pattern]int{}
	var out []kmsg.DescribeACLsResponseResource
	for _, rule := range rules {
		p := pattern{rule.Resource, rule.Pattern, rule.Name}
		n, seen := at[p]
		if !seen {
			n = len(out)
			at[p] = n
			resource := kmsg.NewDescribeACLsResponseResource()
			resource.ResourceType, resource.ResourceName = kmsg.ACLResourceType(rule.Resource), rule.Name
			resource.ResourcePatternType = kmsg.ACLResourcePatternType(rule.Pattern)
			out = append(out, resource)
		}
		acl := kmsg.NewDescribeACLsResponseResourceACL()
		acl.Principal, acl.Host = rule.Principal, rule.Host
		acl.Operation, acl.PermissionType = kmsg.ACLOperation(rule.Operation), kmsg.ACLPermissionType(rule.Permission)
		out[n].ACLs = append(out[n].ACLs, acl)
	}
	return out
}
