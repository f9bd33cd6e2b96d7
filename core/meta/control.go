package meta

import (
	"context"
	"time"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/sdk/auth"
)

// Control is the one door to whoever decides about the cluster. A call returns
// once its decision is committed and Image on this broker includes it; every
// result that a client may see is a *kafka.Error (nil: done). The error beside
// the results says that nothing was decided (no majority, shutting down, ctx):
// it is a *kafka.Error too when a client should retry.
//
// Every method is safe for concurrent use.
type Control interface {
	// Image is the newest image that this broker knows. It never goes back and
	// never blocks.
	Image() *Image
	// Refresh brings Image up to all that any broker has answered before the call. The
	// error says that who decides could not be asked, or that ctx ended.
	Refresh(ctx context.Context) error
	// Watch calls f with the present image and then with each newer one, one
	// call at a time; images may be skipped, the newest is never lost. f must
	// not call Control. stop waits for a running call to return.
	Watch(f func(*Image)) (stop func())

	CreateTopics(ctx context.Context, topics []NewTopic, validateOnly bool) ([]TopicResult, error)
	DeleteTopics(ctx context.Context, ids []kafka.TopicID) ([]*kafka.Error, error)
	CreatePartitions(ctx context.Context, topics []NewPartitions, validateOnly bool) ([]*kafka.Error, error)
	// AlterConfigs replaces the dynamic configs of whole resources, all or each
	// by itself: Values is what the resource has afterwards. Previous guards
	// against a change in between: it must equal what the image has.
	AlterConfigs(ctx context.Context, changes []ConfigChange, validateOnly bool) ([]*kafka.Error, error)
	UpdateFeatures(ctx context.Context, updates []FeatureUpdate, validateOnly bool) ([]*kafka.Error, error)
	// CreateACLs adds access rules, all or none; the ones that are there stay.
	CreateACLs(ctx context.Context, rules []auth.Rule) error
	// DeleteACLs takes away what the filters choose, and says for each filter what
	// that was: a rule that two filters choose is named for both, as in Kafka.
	DeleteACLs(ctx context.Context, filters []ACLFilter) ([]ACLDeletion, error)
	// AlterPlugins changes the plugin catalogue, each entry by itself.
	AlterPlugins(ctx context.Context, changes []PluginChange) ([]*kafka.Error, error)
	// AllocateProducerIDs hands out a block of producer ids that nobody else gets.
	AllocateProducerIDs(ctx context.Context) (ProducerIDBlock, error)

	// AlterISR changes in-sync replicas as the leader from asks, each partition by
	// itself. epoch is that of its registration; with another one nothing is decided.
	AlterISR(ctx context.Context, from kafka.BrokerID, epoch kafka.BrokerEpoch, changes []ISRChange) ([]ISRResult, error)
	// ElectLeaders holds elections; nil partitions: all, in the order of Image.Topics.
	ElectLeaders(ctx context.Context, kind ElectionKind, partitions []PartitionID) ([]*kafka.Error, error)
	// AlterReassignments moves partitions to other replicas, each by itself.
	AlterReassignments(ctx context.Context, changes []Reassignment) ([]*kafka.Error, error)
	// UnregisterBroker forgets a broker. Its error may be a client's mistake, too.
	UnregisterBroker(ctx context.Context, id kafka.BrokerID) error
	// AddVoter and RemoveVoter say which nodes vote on decisions.
	AddVoter(ctx context.Context, id kafka.BrokerID) error
	RemoveVoter(ctx context.Context, id kafka.BrokerID) error
	// Quorum describes the voters as this broker knows them.
	Quorum() Quorum
}

// NewTopic is a topic to make. Names and configs have been checked by the
// caller; existence, counts and assignment are checked where it is decided.
type NewTopic struct {
	Name              string
	PartitionCount    int32              // ignored with Assignment
	ReplicationFactor int16              // ignored with Assignment
	Assignment        [][]kafka.BrokerID // by partition; nil: placed by the cluster
	Configs           map[string]string
}

// TopicResult says what became of a NewTopic. With validateOnly, Topic is what
// would have been made, with a zero ID.
type TopicResult struct {
	Topic *Topic // nil on error
	Err   *kafka.Error
}

// NewPartitions grows a topic to Count partitions.
type NewPartitions struct {
	Topic      string
	Count      int32
	Assignment [][]kafka.BrokerID // of the new partitions; nil: placed by the cluster
}

// ConfigChange replaces the dynamic config of one resource.
type ConfigChange struct {
	Resource Resource
	Previous map[string]string // what the caller saw
	Values   map[string]string // what it shall be
}

// FeatureUpdate asks for a finalized feature level; 0 removes the feature.
type FeatureUpdate struct {
	Name      string
	Level     int16
	Downgrade DowngradeKind
}

// DowngradeKind says whether a feature level may go down (UpdateFeatures v1+).
type DowngradeKind int8

// The kinds of feature update, by the protocol's numbers.
const (
	UpgradeOnly     DowngradeKind = 1
	SafeDowngrade   DowngradeKind = 2
	UnsafeDowngrade DowngradeKind = 3
)

// ProducerIDBlock is a range of producer ids: First, First+1, … Count of them.
type ProducerIDBlock struct {
	First kafka.ProducerID
	Count int64
}

// Quorum is the state of the voters, for DescribeQuorum.
type Quorum struct {
	Leader        kafka.BrokerID // NoBroker: none known
	LeaderEpoch   int32
	HighWatermark int64 // index of the last committed change
	Voters        []QuorumReplica
	Observers     []QuorumReplica
}

// QuorumReplica is how far one replica of the control log has come.
type QuorumReplica struct {
	ID           kafka.BrokerID
	DirectoryID  kafka.TopicID
	LogEndOffset int64
	LastFetch    time.Time // zero: not known
	LastCaughtUp time.Time // zero: not known
	Host         string
	Port         int32
}
