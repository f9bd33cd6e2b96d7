package auth

import (
	"fmt"
	"strings"
)

// operationNames are Kafka's names in lower case, with dashes.
var operationNames = map[Operation]string{
	OpAny: "any", OpAll: "all", OpRead: "read", OpWrite: "write", OpCreate: "create", OpDelete: "delete",
	OpAlter: "alter", OpDescribe: "describe", OpClusterAction: "cluster-action", OpDescribeConfigs: "describe-configs",
	OpAlterConfigs: "alter-configs", OpIdempotentWrite: "idempotent-write", OpCreateTokens: "create-tokens",
	OpDescribeTokens: "describe-tokens", OpTwoPhaseCommit: "two-phase-commit",
}

var resourceNames = map[ResourceType]string{
	AnyResource: "any", Topic: "topic", Group: "group", Cluster: "cluster", TransactionalID: "transactional-id",
	DelegationToken: "delegation-token", User: "user",
}

// String is Kafka's name in lower case, with dashes.
func (op Operation) String() string { return nameOf(operationNames, op) }

// String is Kafka's name in lower case, with dashes.
func (t ResourceType) String() string { return nameOf(resourceNames, t) }

// ParseOperation reads what String gives, in any case, with dashes or without.
func ParseOperation(name string) (Operation, error) {
	return parseName(operationNames, "operation", name)
}

// ParseResourceType reads what String gives, in any case, with dashes or without.
func ParseResourceType(name string) (ResourceType, error) {
	return parseName(resourceNames, "resource type", name)
}

func nameOf[T ~int8](names map[T]string, v T) string {
	if name, ok := names[v]; ok {
		return name
	}
	return fmt.Sprintf("unknown(%d)", int8(v))
}

func parseName[T ~int8](names map[T]string, what, name string) (T, error) {
	wanted := plainName(name)
	for v, known := range names {
		if plainName(known) == wanted {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%s %q is not known", what, name)
}

// plainName is a name without what may be written either way.
func plainName(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "-", ""), "_", ""))
}
