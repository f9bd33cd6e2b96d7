package metadata

import (
	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
	"github.com/mortisemq/mortise/sdk/auth"
)

// Command is one decision to be agreed on. The types in this file are all there
// are.
type Command interface{ kind() kind }

// kind is the number of a command's type in its encoding. Numbers are never
// used again.
type kind uint8

const (
	kindBootstrap           kind = 1
	kindRegisterBroker      kind = 2
	kindCreateTopics        kind = 3
	kindDeleteTopics        kind = 4
	kindCreatePartitions    kind = 5
	kindAlterConfigs        kind = 6
	kindUpdateFeatures      kind = 7
	kindAllocateProducerIDs kind = 8
	kindCreateACLs          kind = 9
	kindDeleteACLs          kind = 10
	kindAlterPlugins        kind = 11
	kindAlterISR            kind = 12
	kindFenceBroker         kind = 13
	kindUnfenceBroker       kind = 14
	kindBeginShutdown       kind = 15
	kindElectLeaders        kind = 16
	kindAlterReassignments  kind = 17
	kindUnregisterBroker    kind = 18
	kindSetFull             kind = 19
)

// Bootstrap is the first command of a cluster: its id and feature levels. It
// does nothing when the cluster has an id already.
type Bootstrap struct {
	ClusterID string           `cbor:"1,keyasint"`
	Features  map[string]int16 `cbor:"2,keyasint,omitempty"`
	Founding  string           `cbor:"3,keyasint,omitempty"` // meta.Image.Founding
}

// RegisterBroker is meta.Registrar.RegisterBroker.
type RegisterBroker struct {
	ID            kafka.BrokerID   `cbor:"1,keyasint"`
	Rack          string           `cbor:"2,keyasint,omitempty"`
	Endpoints     []Endpoint       `cbor:"3,keyasint,omitempty"`
	LogDirs       []kafka.TopicID  `cbor:"4,keyasint,omitempty"`
	CleanShutdown bool             `cbor:"5,keyasint,omitempty"`
	ProducerIDs   kafka.ProducerID `cbor:"6,keyasint,omitempty"`
	LaterEpochs   []LogEpoch       `cbor:"7,keyasint,omitempty"`

	Peer          string            `cbor:"8,keyasint,omitempty"`
	PreviousEpoch kafka.BrokerEpoch `cbor:"9,keyasint,omitempty"`
	MinISR        int               `cbor:"10,keyasint,omitempty"`
	Unclean       bool              `cbor:"11,keyasint,omitempty"`
	Attempt       uint64            `cbor:"12,keyasint,omitempty"`
	Missing       []PartitionID     `cbor:"13,keyasint,omitempty"`
}

// LogEpoch is meta.LogEpoch.
type LogEpoch struct {
	TopicID   kafka.TopicID     `cbor:"1,keyasint"`
	Partition int32             `cbor:"2,keyasint"`
	Epoch     kafka.LeaderEpoch `cbor:"3,keyasint"`
}

// Endpoint is meta.Endpoint.
type Endpoint struct {
	Listener string `cbor:"1,keyasint"`
	Host     string `cbor:"2,keyasint"`
	Port     int32  `cbor:"3,keyasint"`
}

// CreateTopics makes topics, each by itself: one that is refused does not stop
// the others.
type CreateTopics struct {
	Topics []NewTopic `cbor:"1,keyasint"`
	Seed   uint64     `cbor:"2,keyasint"` // of placement
}

// NewTopic is meta.NewTopic with the id that it gets.
type NewTopic struct {
	Name              string             `cbor:"1,keyasint"`
	ID                kafka.TopicID      `cbor:"2,keyasint"`
	PartitionCount    int32              `cbor:"3,keyasint,omitempty"`
	ReplicationFactor int16              `cbor:"4,keyasint,omitempty"`
	Assignment        [][]kafka.BrokerID `cbor:"5,keyasint,omitempty"`
	Configs           map[string]string  `cbor:"6,keyasint,omitempty"`
}

// DeleteTopics removes topics, each by itself.
type DeleteTopics struct {
	IDs []kafka.TopicID `cbor:"1,keyasint"`
}

// CreatePartitions grows topics, each by itself.
type CreatePartitions struct {
	Topics []NewPartitions `cbor:"1,keyasint"`
	Seed   uint64          `cbor:"2,keyasint"` // of placement
}

// NewPartitions is meta.NewPartitions.
type NewPartitions struct {
	Topic      string             `cbor:"1,keyasint"`
	Count      int32              `cbor:"2,keyasint"`
	Assignment [][]kafka.BrokerID `cbor:"3,keyasint,omitempty"`
}

// AlterConfigs replaces the dynamic configs of resources, each by itself.
type AlterConfigs struct {
	Changes []ConfigChange `cbor:"1,keyasint"`
}

// ConfigChange is meta.ConfigChange.
type ConfigChange struct {
	Type     meta.ResourceType `cbor:"1,keyasint"`
	Name     string            `cbor:"2,keyasint,omitempty"`
	Previous map[string]string `cbor:"3,keyasint,omitempty"`
	Values   map[string]string `cbor:"4,keyasint,omitempty"`
}

// UpdateFeatures sets feature levels, all or none.
type UpdateFeatures struct {
	Decider kafka.BrokerID  `cbor:"1,keyasint"` // who is named in a refusal
	Updates []FeatureUpdate `cbor:"2,keyasint"`
}

// FeatureUpdate is meta.FeatureUpdate.
type FeatureUpdate struct {
	Name      string             `cbor:"1,keyasint"`
	Level     int16              `cbor:"2,keyasint"`
	Downgrade meta.DowngradeKind `cbor:"3,keyasint"`
}

// AllocateProducerIDs hands out the next Count producer ids.
type AllocateProducerIDs struct {
	Count int64 `cbor:"1,keyasint"`
}

// CreateACLs adds access rules.
type CreateACLs struct {
	Rules []ACL `cbor:"1,keyasint"`
}

// ACL is auth.Rule.
type ACL struct {
	Resource   auth.ResourceType `cbor:"1,keyasint"`
	Name       string            `cbor:"2,keyasint"`
	Pattern    auth.PatternType  `cbor:"3,keyasint"`
	Principal  string            `cbor:"4,keyasint"`
	Host       string            `cbor:"5,keyasint"`
	Operation  auth.Operation    `cbor:"6,keyasint"`
	Permission auth.Permission   `cbor:"7,keyasint"`
}

// DeleteACLs takes away what the filters choose.
type DeleteACLs struct {
	Filters []ACLFilter `cbor:"1,keyasint"`
}

// ACLFilter is meta.ACLFilter.
type ACLFilter struct {
	Resource   auth.ResourceType `cbor:"1,keyasint"`
	Name       *string           `cbor:"2,keyasint,omitempty"`
	Pattern    auth.PatternType  `cbor:"3,keyasint"`
	Principal  *string           `cbor:"4,keyasint,omitempty"`
	Host       *string           `cbor:"5,keyasint,omitempty"`
	Operation  auth.Operation    `cbor:"6,keyasint"`
	Permission auth.Permission   `cbor:"7,keyasint"`
}

// AlterPlugins changes the plugin catalogue, each entry by itself.
type AlterPlugins struct {
	Changes []PluginChange `cbor:"1,keyasint"`
}

// PluginChange is meta.PluginChange.
type PluginChange struct {
	Name     string `cbor:"1,keyasint"`
	Previous uint64 `cbor:"2,keyasint,omitempty"`
	Spec     string `cbor:"3,keyasint,omitempty"`
}

func (*Bootstrap) kind() kind           { return kindBootstrap }
func (*RegisterBroker) kind() kind      { return kindRegisterBroker }
func (*CreateTopics) kind() kind        { return kindCreateTopics }
func (*DeleteTopics) kind() kind        { return kindDeleteTopics }
func (*CreatePartitions) kind() kind    { return kindCreatePartitions }
func (*AlterConfigs) kind() kind        { return kindAlterConfigs }
func (*UpdateFeatures) kind() kind      { return kindUpdateFeatures }
func (*AllocateProducerIDs) kind() kind { return kindAllocateProducerIDs }
func (*CreateACLs) kind() kind          { return kindCreateACLs }
func (*DeleteACLs) kind() kind          { return kindDeleteACLs }
func (*AlterPlugins) kind() kind        { return kindAlterPlugins }
func (*AlterISR) kind() kind            { return kindAlterISR }
func (*FenceBroker) kind() kind         { return kindFenceBroker }
func (*UnfenceBroker) kind() kind       { return kindUnfenceBroker }
func (*BeginShutdown) kind() kind       { return kindBeginShutdown }
func (*ElectLeaders) kind() kind        { return kindElectLeaders }
func (*AlterReassignments) kind() kind  { return kindAlterReassignments }
func (*UnregisterBroker) kind() kind    { return kindUnregisterBroker }
func (*SetFull) kind() kind             { return kindSetFull }
