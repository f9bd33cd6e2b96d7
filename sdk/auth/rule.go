package auth

// Operation is what somebody does, by the numbers of Kafka's AclOperation.
type Operation int8

// The operations.
const (
	OpAny             Operation = 1 // in filters only
	OpAll             Operation = 2 // in rules only
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
	OpCreateTokens    Operation = 13
	OpDescribeTokens  Operation = 14
	OpTwoPhaseCommit  Operation = 15
)

// ResourceType is what it is done to, by the numbers of Kafka's ResourceType.
type ResourceType int8

// The types of resources.
const (
	AnyResource     ResourceType = 1 // in filters only
	Topic           ResourceType = 2
	Group           ResourceType = 3
	Cluster         ResourceType = 4
	TransactionalID ResourceType = 5
	DelegationToken ResourceType = 6
	User            ResourceType = 7
)

// ClusterName is the name of the one resource of type Cluster.
const ClusterName = "kafka-cluster"

// PatternType says how a rule's name is compared, by the numbers of Kafka's
// PatternType.
type PatternType int8

// The pattern types of rules.
const (
	Literal  PatternType = 3 // the name, or * for every name
	Prefixed PatternType = 4 // every name that begins so
)

// Permission is what a rule says, by the numbers of Kafka's AclPermissionType.
type Permission int8

// The permissions.
const (
	PermissionDeny  Permission = 2
	PermissionAllow Permission = 3
)

// Wildcard stands for every name, principal or host.
const Wildcard = "*"

// Rule is one of Kafka's ACL bindings.
type Rule struct {
	Resource   ResourceType
	Name       string
	Pattern    PatternType
	Principal  string // Type:name, or Type:* for all of the type; Group:name for a group
	Host       string // IP address, or *
	Operation  Operation
	Permission Permission
}
