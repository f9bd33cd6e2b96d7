package meta

import (
	"iter"
	"maps"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/sdk/auth"
)

// Image is the state of the cluster after the change numbered Index. It is
// immutable and safe for concurrent use; its accessors allocate nothing unless
// they say so. The zero value is not usable: start with Empty.
type Image struct {
	Index     uint64 // of the last change in it; also the epoch of Features
	ClusterID string
	// Founding tells a cluster whose id people chose from another one of that id; empty:
	// the id is unique.
	Founding string

	// NextProducerID is the first producer id that no broker has been given.
	NextProducerID kafka.ProducerID

	// ACLEpoch is the Index of the last change of access rules.
	ACLEpoch uint64
	// PluginEpoch is the Index of the last change of the plugin catalogue.
	PluginEpoch uint64

	brokers  map[kafka.BrokerID]*Broker
	topics   *iradix.Tree[*Topic]         // by name
	topicIDs *iradix.Tree[*Topic]         // by id
	configs  *iradix.Tree[resourceConfig] // by Resource.key
	features map[string]int16
	acls     *iradix.Tree[auth.Rule]    // by ruleKey
	plugins  *iradix.Tree[*PluginEntry] // by name

	totals   totals
	holdings map[kafka.BrokerID]*holdings // of brokers that ever had a replica
	history  history
}

// Empty is the image of a cluster before its first change.
func Empty(clusterID string) *Image {
	return &Image{
		ClusterID: clusterID,
		brokers:   map[kafka.BrokerID]*Broker{},
		topics:    iradix.New[*Topic](),
		topicIDs:  iradix.New[*Topic](),
		configs:   iradix.New[resourceConfig](),
		features:  map[string]int16{},
		acls:      iradix.New[auth.Rule](),
		plugins:   iradix.New[*PluginEntry](),
		holdings:  map[kafka.BrokerID]*holdings{},
		history:   history{{}},
	}
}

// Identity is what the nodes of a cluster know each other by; empty: there is none yet.
// A node that lost its disk and founds a cluster anew must not be taken for one of those
// that it knew, whatever its settings say.
func (i *Image) Identity() string { return Identity(i.ClusterID, i.Founding) }

// Identity is that of the cluster with an id and a founding.
func Identity(id, founding string) string {
	if founding == "" {
		return id
	}
	return id + "#" + founding
}

// Broker is a registered broker.
type Broker struct {
	ID        kafka.BrokerID
	Epoch     kafka.BrokerEpoch
	Rack      string // empty: none
	Endpoints []Endpoint
	Fenced    bool            // registered but not to be offered to clients
	LogDirs   []kafka.TopicID // directory ids (meta.properties directory.id)

	// ShuttingDown says that the broker wants to stop: it keeps serving what it has,
	// and gets nothing new.
	ShuttingDown bool
	// Full says that a log directory of the broker has no room: who has room is elected
	// rather than it.
	Full    bool
	Peer    string // host:port where other nodes reach it; empty: it is alone
	Attempt uint64 // Registration.Attempt

	// What the broker's settings file says about elections, for topics about which
	// the image says nothing.
	MinISR  int  // min.insync.replicas; 0: not said, which is 1
	Unclean bool // unclean.leader.election.enable
}

// Endpoint is an address that clients of one listener are told to use.
type Endpoint struct {
	Listener string
	Host     string
	Port     int32
}

// Endpoint finds the broker's address for clients of the named listener.
func (b *Broker) Endpoint(listener string) (Endpoint, bool) {
	for _, e := range b.Endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	return Endpoint{}, false
}

// Topic is a topic with all of its partitions, indexed by partition number.
type Topic struct {
	Name       string
	ID         kafka.TopicID
	Partitions []Partition
}

// Partition is the agreed state of one partition.
//
// Invariant: ISR ⊆ Replicas; Leader is NoBroker or in ISR.
type Partition struct {
	Replicas []kafka.BrokerID // in order of preference
	ISR      []kafka.BrokerID
	Leader   kafka.BrokerID

	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch

	ELR             []kafka.BrokerID // eligible leader replicas (KIP-966)
	LastKnownLeader kafka.BrokerID   // who led when the ISR became empty; NoBroker: it is not
	// Recovering says that the leader came from an unclean election and has not told
	// yet that it did what follows from that (KIP-704).
	Recovering bool

	Adding   []kafka.BrokerID // reassignment under way
	Removing []kafka.BrokerID
}

// ResourceType is the kind of thing that a config belongs to, by Kafka's numbers.
type ResourceType int8

// Config resource types (ConfigResource.Type).
const (
	ResourceUnknown       ResourceType = 0
	ResourceTopic         ResourceType = 2
	ResourceBroker        ResourceType = 4
	ResourceBrokerLogger  ResourceType = 8
	ResourceClientMetrics ResourceType = 16
	ResourceGroup         ResourceType = 32
)

// Resource names what a set of dynamic configs belongs to. A broker resource
// with an empty name is the cluster-wide default of all brokers.
type Resource struct {
	Type ResourceType
	Name string
}

// resourceConfig is the dynamic config of one resource.
type resourceConfig struct {
	resource Resource
	values   map[string]string
}

// resourceKeyRoom is enough for the key of any topic, so that a look-up makes it on
// the stack.
const resourceKeyRoom = 256

// key is the resource's key in a tree, appended to b.
func (r Resource) key(b []byte) []byte { return append(append(b, byte(r.Type)), r.Name...) }

// Broker finds a broker by id.
func (i *Image) Broker(id kafka.BrokerID) (*Broker, bool) {
	b, ok := i.brokers[id]
	return b, ok
}

// Brokers are all registered brokers, in no particular order.
func (i *Image) Brokers() iter.Seq[*Broker] { return maps.Values(i.brokers) }

// BrokerCount is the number of registered brokers.
func (i *Image) BrokerCount() int { return len(i.brokers) }

// Topic finds a topic by name.
func (i *Image) Topic(name string) (*Topic, bool) { return i.topics.Get([]byte(name)) }

// TopicByID finds a topic by id.
func (i *Image) TopicByID(id kafka.TopicID) (*Topic, bool) { return i.topicIDs.Get(id[:]) }

// Topics are all topics in the order of their names.
func (i *Image) Topics() iter.Seq[*Topic] { return i.TopicsFrom("") }

// TopicsFrom are the topics whose names are not less than name, in order.
func (i *Image) TopicsFrom(name string) iter.Seq[*Topic] {
	return func(yield func(*Topic) bool) {
		it := i.topics.Root().Iterator()
		it.SeekLowerBound([]byte(name))
		for _, t, ok := it.Next(); ok; _, t, ok = it.Next() {
			if !yield(t) {
				return
			}
		}
	}
}

// TopicCount is the number of topics.
func (i *Image) TopicCount() int { return i.topics.Len() }

// Config is the dynamic config of a resource: nil when it has none. The caller
// must not change the map.
func (i *Image) Config(r Resource) map[string]string {
	var room [resourceKeyRoom]byte
	c, _ := i.configs.Get(r.key(room[:0]))
	return c.values
}

// ConfigResources are the resources that have a dynamic config, by type and name.
func (i *Image) ConfigResources() iter.Seq[Resource] {
	return func(yield func(Resource) bool) {
		it := i.configs.Root().Iterator()
		for _, c, ok := it.Next(); ok; _, c, ok = it.Next() {
			if !yield(c.resource) {
				return
			}
		}
	}
}

// ConfigResourcesOf are those of one type, by name. It looks at no others.
func (i *Image) ConfigResourcesOf(t ResourceType) iter.Seq[Resource] {
	return func(yield func(Resource) bool) {
		it := i.configs.Root().Iterator()
		it.SeekPrefix([]byte{byte(t)})
		for _, c, ok := it.Next(); ok; _, c, ok = it.Next() {
			if !yield(c.resource) {
				return
			}
		}
	}
}

// Features are the finalized feature levels by name. The caller must not change
// the map.
func (i *Image) Features() map[string]int16 { return i.features }
