package kafka

import "strconv"

// ErrorCode is an error number of the Kafka protocol.
type ErrorCode int16

// The error codes that Mortise gives or handles, by Kafka's names.
const (
	ErrUnknownServerError                 ErrorCode = -1
	None                                  ErrorCode = 0
	ErrOffsetOutOfRange                   ErrorCode = 1
	ErrCorruptMessage                     ErrorCode = 2
	ErrUnknownTopicOrPartition            ErrorCode = 3
	ErrLeaderNotAvailable                 ErrorCode = 5
	ErrNotLeaderOrFollower                ErrorCode = 6
	ErrRequestTimedOut                    ErrorCode = 7
	ErrBrokerNotAvailable                 ErrorCode = 8
	ErrReplicaNotAvailable                ErrorCode = 9
	ErrMessageTooLarge                    ErrorCode = 10
	ErrOffsetMetadataTooLarge             ErrorCode = 12
	ErrNetworkException                   ErrorCode = 13
	ErrCoordinatorLoadInProgress          ErrorCode = 14
	ErrCoordinatorNotAvailable            ErrorCode = 15
	ErrNotCoordinator                     ErrorCode = 16
	ErrInvalidTopic                       ErrorCode = 17
	ErrRecordListTooLarge                 ErrorCode = 18
	ErrNotEnoughReplicas                  ErrorCode = 19
	ErrNotEnoughReplicasAfterAppend       ErrorCode = 20
	ErrInvalidRequiredAcks                ErrorCode = 21
	ErrIllegalGeneration                  ErrorCode = 22
	ErrInconsistentGroupProtocol          ErrorCode = 23
	ErrInvalidGroupID                     ErrorCode = 24
	ErrUnknownMemberID                    ErrorCode = 25
	ErrInvalidSessionTimeout              ErrorCode = 26
	ErrRebalanceInProgress                ErrorCode = 27
	ErrTopicAuthorizationFailed           ErrorCode = 29
	ErrGroupAuthorizationFailed           ErrorCode = 30
	ErrClusterAuthorizationFailed         ErrorCode = 31
	ErrInvalidTimestamp                   ErrorCode = 32
	ErrUnsupportedSaslMechanism           ErrorCode = 33
	ErrIllegalSaslState                   ErrorCode = 34
	ErrUnsupportedVersion                 ErrorCode = 35
	ErrTopicAlreadyExists                 ErrorCode = 36
	ErrInvalidPartitions                  ErrorCode = 37
	ErrInvalidReplicationFactor           ErrorCode = 38
	ErrInvalidReplicaAssignment           ErrorCode = 39
	ErrInvalidConfig                      ErrorCode = 40
	ErrNotController                      ErrorCode = 41
	ErrInvalidRequest                     ErrorCode = 42
	ErrUnsupportedForMessageFormat        ErrorCode = 43
	ErrPolicyViolation                    ErrorCode = 44
	ErrOutOfOrderSequenceNumber           ErrorCode = 45
	ErrDuplicateSequenceNumber            ErrorCode = 46
	ErrInvalidProducerEpoch               ErrorCode = 47
	ErrInvalidTxnState                    ErrorCode = 48
	ErrInvalidTransactionTimeout          ErrorCode = 50
	ErrConcurrentTransactions             ErrorCode = 51
	ErrTransactionalIDAuthorizationFailed ErrorCode = 53
	ErrSecurityDisabled                   ErrorCode = 54
	ErrOperationNotAttempted              ErrorCode = 55
	ErrKafkaStorageError                  ErrorCode = 56
	ErrLogDirNotFound                     ErrorCode = 57
	ErrSaslAuthenticationFailed           ErrorCode = 58
	ErrUnknownProducerID                  ErrorCode = 59
	ErrNonEmptyGroup                      ErrorCode = 68
	ErrGroupIDNotFound                    ErrorCode = 69
	ErrFetchSessionIDNotFound             ErrorCode = 70
	ErrInvalidFetchSessionEpoch           ErrorCode = 71
	ErrListenerNotFound                   ErrorCode = 72
	ErrTopicDeletionDisabled              ErrorCode = 73
	ErrFencedLeaderEpoch                  ErrorCode = 74
	ErrUnknownLeaderEpoch                 ErrorCode = 75
	ErrUnsupportedCompressionType         ErrorCode = 76
	ErrStaleBrokerEpoch                   ErrorCode = 77
	ErrOffsetNotAvailable                 ErrorCode = 78
	ErrMemberIDRequired                   ErrorCode = 79
	ErrPreferredLeaderNotAvailable        ErrorCode = 80
	ErrGroupMaxSizeReached                ErrorCode = 81
	ErrFencedInstanceID                   ErrorCode = 82
	ErrEligibleLeadersNotAvailable        ErrorCode = 83
	ErrElectionNotNeeded                  ErrorCode = 84
	ErrNoReassignmentInProgress           ErrorCode = 85
	ErrGroupSubscribedToTopic             ErrorCode = 86
	ErrInvalidRecord                      ErrorCode = 87
	ErrUnstableOffsetCommit               ErrorCode = 88
	ErrThrottlingQuotaExceeded            ErrorCode = 89
	ErrProducerFenced                     ErrorCode = 90
	ErrResourceNotFound                   ErrorCode = 91
	ErrDuplicateResource                  ErrorCode = 92
	ErrInvalidUpdateVersion               ErrorCode = 95
	ErrFeatureUpdateFailed                ErrorCode = 96
	ErrUnknownTopicID                     ErrorCode = 100
	ErrDuplicateBrokerRegistration        ErrorCode = 101
	ErrBrokerIDNotRegistered              ErrorCode = 102
	ErrInconsistentTopicID                ErrorCode = 103
	ErrInconsistentClusterID              ErrorCode = 104
	ErrFetchSessionTopicIDError           ErrorCode = 106
	ErrIneligibleReplica                  ErrorCode = 107
	ErrNewLeaderElected                   ErrorCode = 108
	ErrFencedMemberEpoch                  ErrorCode = 110
	ErrUnreleasedInstanceID               ErrorCode = 111
	ErrUnsupportedAssignor                ErrorCode = 112
	ErrStaleMemberEpoch                   ErrorCode = 113
	ErrMismatchedEndpointType             ErrorCode = 114
	ErrUnsupportedEndpointType            ErrorCode = 115
	ErrUnknownSubscriptionID              ErrorCode = 117
	ErrTelemetryTooLarge                  ErrorCode = 118
	ErrTransactionAbortable               ErrorCode = 120
	ErrDuplicateVoter                     ErrorCode = 126
	ErrVoterNotFound                      ErrorCode = 127
	ErrInvalidRegularExpression           ErrorCode = 128
	ErrRebootstrapRequired                ErrorCode = 129
)

// errorTexts holds Kafka's name and default text of each code.
var errorTexts = map[ErrorCode]struct{ name, text string }{
	ErrUnknownServerError:                 {"UNKNOWN_SERVER_ERROR", "The server experienced an unexpected error when processing the request."},
	None:                                  {"NONE", ""},
	ErrOffsetOutOfRange:                   {"OFFSET_OUT_OF_RANGE", "The requested offset is not within the range of offsets maintained by the server."},
	ErrCorruptMessage:                     {"CORRUPT_MESSAGE", "This message has failed its CRC checksum, exceeds the valid size, has a null key for a compacted topic, or is otherwise corrupt."},
	ErrUnknownTopicOrPartition:            {"UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition."},
	ErrLeaderNotAvailable:                 {"LEADER_NOT_AVAILABLE", "There is no leader for this topic-partition as we are in the middle of a leadership election."},
	ErrNotLeaderOrFollower:                {"NOT_LEADER_OR_FOLLOWER", "For requests intended only for the leader, this error indicates that the broker is not the current leader. For requests intended for any replica, this error indicates that the broker is not a replica of the topic partition."},
	ErrRequestTimedOut:                    {"REQUEST_TIMED_OUT", "The request timed out."},
	ErrBrokerNotAvailable:                 {"BROKER_NOT_AVAILABLE", "The broker is not available."},
	ErrReplicaNotAvailable:                {"REPLICA_NOT_AVAILABLE", "The replica is not available for the requested topic-partition. Produce/Fetch requests and other requests intended only for the leader or follower return NOT_LEADER_OR_FOLLOWER if the broker is not a replica of the topic-partition."},
	ErrMessageTooLarge:                    {"MESSAGE_TOO_LARGE", "The request included a message larger than the max message size the server will accept."},
	ErrOffsetMetadataTooLarge:             {"OFFSET_METADATA_TOO_LARGE", "The metadata field of the offset request was too large."},
	ErrNetworkException:                   {"NETWORK_EXCEPTION", "The server disconnected before a response was received."},
	ErrCoordinatorLoadInProgress:          {"COORDINATOR_LOAD_IN_PROGRESS", "The coordinator is loading and hence can't process requests."},
	ErrCoordinatorNotAvailable:            {"COORDINATOR_NOT_AVAILABLE", "The coordinator is not available."},
	ErrNotCoordinator:                     {"NOT_COORDINATOR", "This is not the correct coordinator."},
	ErrInvalidTopic:                       {"INVALID_TOPIC_EXCEPTION", "The request attempted to perform an operation on an invalid topic."},
	ErrRecordListTooLarge:                 {"RECORD_LIST_TOO_LARGE", "The request included message batch larger than the configured segment size on the server."},
	ErrNotEnoughReplicas:                  {"NOT_ENOUGH_REPLICAS", "Messages are rejected since there are fewer in-sync replicas than required."},
	ErrNotEnoughReplicasAfterAppend:       {"NOT_ENOUGH_REPLICAS_AFTER_APPEND", "Messages are written to the log, but to fewer in-sync replicas than required."},
	ErrInvalidRequiredAcks:                {"INVALID_REQUIRED_ACKS", "Produce request specified an invalid value for required acks."},
	ErrIllegalGeneration:                  {"ILLEGAL_GENERATION", "Specified group generation id is not valid."},
	ErrInconsistentGroupProtocol:          {"INCONSISTENT_GROUP_PROTOCOL", "The group member's supported protocols are incompatible with those of existing members or first group member tried to join with empty protocol type or empty protocol list."},
	ErrInvalidGroupID:                     {"INVALID_GROUP_ID", "The group id is invalid."},
	ErrUnknownMemberID:                    {"UNKNOWN_MEMBER_ID", "The coordinator is not aware of this member."},
	ErrInvalidSessionTimeout:              {"INVALID_SESSION_TIMEOUT", "The session timeout is not within the range allowed by the broker (as configured by group.min.session.timeout.ms and group.max.session.timeout.ms)."},
	ErrRebalanceInProgress:                {"REBALANCE_IN_PROGRESS", "The group is rebalancing, so a rejoin is needed."},
	ErrTopicAuthorizationFailed:           {"TOPIC_AUTHORIZATION_FAILED", "Topic authorization failed."},
	ErrGroupAuthorizationFailed:           {"GROUP_AUTHORIZATION_FAILED", "Group authorization failed."},
	ErrClusterAuthorizationFailed:         {"CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed."},
	ErrInvalidTimestamp:                   {"INVALID_TIMESTAMP", "The timestamp of the message is out of acceptable range."},
	ErrUnsupportedSaslMechanism:           {"UNSUPPORTED_SASL_MECHANISM", "The broker does not support the requested SASL mechanism."},
	ErrIllegalSaslState:                   {"ILLEGAL_SASL_STATE", "Request is not valid given the current SASL state."},
	ErrUnsupportedVersion:                 {"UNSUPPORTED_VERSION", "The version of API is not supported."},
	ErrTopicAlreadyExists:                 {"TOPIC_ALREADY_EXISTS", "Topic with this name already exists."},
	ErrInvalidPartitions:                  {"INVALID_PARTITIONS", "Number of partitions is below 1."},
	ErrInvalidReplicationFactor:           {"INVALID_REPLICATION_FACTOR", "Replication factor is below 1 or larger than the number of available brokers."},
	ErrInvalidReplicaAssignment:           {"INVALID_REPLICA_ASSIGNMENT", "Replica assignment is invalid."},
	ErrInvalidConfig:                      {"INVALID_CONFIG", "Configuration is invalid."},
	ErrNotController:                      {"NOT_CONTROLLER", "This is not the correct controller for this cluster."},
	ErrInvalidRequest:                     {"INVALID_REQUEST", "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details."},
	ErrUnsupportedForMessageFormat:        {"UNSUPPORTED_FOR_MESSAGE_FORMAT", "The message format version on the broker does not support the request."},
	ErrPolicyViolation:                    {"POLICY_VIOLATION", "Request parameters do not satisfy the configured policy."},
	ErrOutOfOrderSequenceNumber:           {"OUT_OF_ORDER_SEQUENCE_NUMBER", "The broker received an out of order sequence number."},
	ErrDuplicateSequenceNumber:            {"DUPLICATE_SEQUENCE_NUMBER", "The broker received a duplicate sequence number."},
	ErrInvalidProducerEpoch:               {"INVALID_PRODUCER_EPOCH", "Producer attempted to produce with an old epoch."},
	ErrInvalidTxnState:                    {"INVALID_TXN_STATE", "The producer attempted a transactional operation in an invalid state."},
	ErrInvalidTransactionTimeout:          {"INVALID_TRANSACTION_TIMEOUT", "The transaction timeout is larger than the maximum value allowed by the broker (as configured by transaction.max.timeout.ms)."},
	ErrConcurrentTransactions:             {"CONCURRENT_TRANSACTIONS", "The producer attempted to update a transaction while another concurrent operation on the same transaction was ongoing."},
	ErrTransactionalIDAuthorizationFailed: {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "Transactional Id authorization failed."},
	ErrSecurityDisabled:                   {"SECURITY_DISABLED", "Security features are disabled."},
	ErrOperationNotAttempted:              {"OPERATION_NOT_ATTEMPTED", "The broker did not attempt to execute this operation. This may happen for batched RPCs where some operations in the batch failed, causing the broker to respond without trying the rest."},
	ErrKafkaStorageError:                  {"KAFKA_STORAGE_ERROR", "Disk error when trying to access log file on the disk."},
	ErrLogDirNotFound:                     {"LOG_DIR_NOT_FOUND", "The user-specified log directory is not found in the broker config."},
	ErrSaslAuthenticationFailed:           {"SASL_AUTHENTICATION_FAILED", "SASL Authentication failed."},
	ErrUnknownProducerID:                  {"UNKNOWN_PRODUCER_ID", "This exception is raised by the broker if it could not locate the producer metadata associated with the producerId in question."},
	ErrNonEmptyGroup:                      {"NON_EMPTY_GROUP", "The group is not empty."},
	ErrGroupIDNotFound:                    {"GROUP_ID_NOT_FOUND", "The group id does not exist."},
	ErrFetchSessionIDNotFound:             {"FETCH_SESSION_ID_NOT_FOUND", "The fetch session ID was not found."},
	ErrInvalidFetchSessionEpoch:           {"INVALID_FETCH_SESSION_EPOCH", "The fetch session epoch is invalid."},
	ErrListenerNotFound:                   {"LISTENER_NOT_FOUND", "There is no listener on the leader broker that matches the listener on which metadata request was processed."},
	ErrTopicDeletionDisabled:              {"TOPIC_DELETION_DISABLED", "Topic deletion is disabled."},
	ErrFencedLeaderEpoch:                  {"FENCED_LEADER_EPOCH", "The leader epoch in the request is older than the epoch on the broker."},
	ErrUnknownLeaderEpoch:                 {"UNKNOWN_LEADER_EPOCH", "The leader epoch in the request is newer than the epoch on the broker."},
	ErrUnsupportedCompressionType:         {"UNSUPPORTED_COMPRESSION_TYPE", "The requesting client does not support the compression type of given partition."},
	ErrStaleBrokerEpoch:                   {"STALE_BROKER_EPOCH", "Broker epoch has changed."},
	ErrOffsetNotAvailable:                 {"OFFSET_NOT_AVAILABLE", "The leader high watermark has not caught up from a recent leader election so the offsets cannot be guaranteed to be monotonically increasing."},
	ErrMemberIDRequired:                   {"MEMBER_ID_REQUIRED", "The group member needs to have a valid member id before actually entering a consumer group."},
	ErrPreferredLeaderNotAvailable:        {"PREFERRED_LEADER_NOT_AVAILABLE", "The preferred leader was not available."},
	ErrGroupMaxSizeReached:                {"GROUP_MAX_SIZE_REACHED", "The group has reached its maximum size."},
	ErrFencedInstanceID:                   {"FENCED_INSTANCE_ID", "The broker rejected this static consumer since another consumer with the same group.instance.id has registered with a different member.id."},
	ErrEligibleLeadersNotAvailable:        {"ELIGIBLE_LEADERS_NOT_AVAILABLE", "Eligible topic partition leaders are not available."},
	ErrElectionNotNeeded:                  {"ELECTION_NOT_NEEDED", "Leader election not needed for topic partition."},
	ErrNoReassignmentInProgress:           {"NO_REASSIGNMENT_IN_PROGRESS", "No partition reassignment is in progress."},
	ErrGroupSubscribedToTopic:             {"GROUP_SUBSCRIBED_TO_TOPIC", "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."},
	ErrInvalidRecord:                      {"INVALID_RECORD", "This record has failed the validation on broker and hence will be rejected."},
	ErrUnstableOffsetCommit:               {"UNSTABLE_OFFSET_COMMIT", "There are unstable offsets that need to be cleared."},
	ErrThrottlingQuotaExceeded:            {"THROTTLING_QUOTA_EXCEEDED", "The throttling quota has been exceeded."},
	ErrProducerFenced:                     {"PRODUCER_FENCED", "There is a newer producer with the same transactionalId which fences the current one."},
	ErrResourceNotFound:                   {"RESOURCE_NOT_FOUND", "A request illegally referred to a resource that does not exist."},
	ErrDuplicateResource:                  {"DUPLICATE_RESOURCE", "A request illegally referred to the same resource twice."},
	ErrInvalidUpdateVersion:               {"INVALID_UPDATE_VERSION", "The given update version was invalid."},
	ErrFeatureUpdateFailed:                {"FEATURE_UPDATE_FAILED", "Unable to update finalized features due to an unexpected server error."},
	ErrUnknownTopicID:                     {"UNKNOWN_TOPIC_ID", "This server does not host this topic ID."},
	ErrDuplicateBrokerRegistration:        {"DUPLICATE_BROKER_REGISTRATION", "This broker ID is already in use."},
	ErrBrokerIDNotRegistered:              {"BROKER_ID_NOT_REGISTERED", "The given broker ID was not registered."},
	ErrInconsistentTopicID:                {"INCONSISTENT_TOPIC_ID", "The log's topic ID did not match the topic ID in the request."},
	ErrInconsistentClusterID:              {"INCONSISTENT_CLUSTER_ID", "The clusterId in the request does not match that found on the server."},
	ErrFetchSessionTopicIDError:           {"FETCH_SESSION_TOPIC_ID_ERROR", "The fetch session encountered inconsistent topic ID usage."},
	ErrIneligibleReplica:                  {"INELIGIBLE_REPLICA", "The new ISR contains at least one ineligible replica."},
	ErrNewLeaderElected:                   {"NEW_LEADER_ELECTED", "The AlterPartition request successfully updated the partition state but the leader has changed."},
	ErrFencedMemberEpoch:                  {"FENCED_MEMBER_EPOCH", "The member epoch is fenced by the group coordinator. The member must abandon all its partitions and rejoin."},
	ErrUnreleasedInstanceID:               {"UNRELEASED_INSTANCE_ID", "The instance ID is still used by another member in the consumer group. That member must leave first."},
	ErrUnsupportedAssignor:                {"UNSUPPORTED_ASSIGNOR", "The assignor or its version range is not supported by the consumer group."},
	ErrStaleMemberEpoch:                   {"STALE_MEMBER_EPOCH", "The member epoch is stale. The member must retry after receiving its updated member epoch via the ConsumerGroupHeartbeat API."},
	ErrMismatchedEndpointType:             {"MISMATCHED_ENDPOINT_TYPE", "The request was sent to an endpoint of the wrong type."},
	ErrUnsupportedEndpointType:            {"UNSUPPORTED_ENDPOINT_TYPE", "The endpoint type is not supported by this server."},
	ErrUnknownSubscriptionID:              {"UNKNOWN_SUBSCRIPTION_ID", "Client sent a push telemetry request with an invalid or outdated subscription ID."},
	ErrTelemetryTooLarge:                  {"TELEMETRY_TOO_LARGE", "Client sent a push telemetry request larger than the maximum size the broker will accept."},
	ErrTransactionAbortable:               {"TRANSACTION_ABORTABLE", "The server encountered an error with the transaction. The client can abort the transaction to continue using this transactional ID."},
	ErrDuplicateVoter:                     {"DUPLICATE_VOTER", "The voter is already part of the set of voters."},
	ErrVoterNotFound:                      {"VOTER_NOT_FOUND", "The voter is not part of the set of voters."},
	ErrInvalidRegularExpression:           {"INVALID_REGULAR_EXPRESSION", "The regular expression is not valid."},
	ErrRebootstrapRequired:                {"REBOOTSTRAP_REQUIRED", "Client metadata is stale, client should rebootstrap to obtain new metadata."},
}

// String is Kafka's name of the code, for example OFFSET_OUT_OF_RANGE.
func (c ErrorCode) String() string {
	if t, ok := errorTexts[c]; ok {
		return t.name
	}
	return "ERROR_" + strconv.Itoa(int(c))
}

// Text is Kafka's default message of the code, which clients show to people.
// It is empty for None.
func (c ErrorCode) Text() string { return errorTexts[c].text }

// Error is a refusal with a code and a message of its own for the client. It is
// the caller's mistake or a state that the caller can see, never a bug of ours.
type Error struct {
	Code    ErrorCode
	Message string // empty: Code.Text()
}

// Error implements error.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.String()
	}
	return e.Code.String() + ": " + e.Message
}

// Is reports whether target carries the same code, so that
// errors.Is(err, kafka.ErrX.Err("")) asks for the code alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Err makes an Error of the code with a message for the client; an empty one
// stands for the code's default text.
func (c ErrorCode) Err(message string) *Error { return &Error{Code: c, Message: message} }
