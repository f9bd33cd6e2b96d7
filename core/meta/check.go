package meta

import (
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// The checks in this file are the ones that only the decider can make, because
// they depend on the image that the decision is made on. Their texts are Kafka's
// (controller/ReplicationControlManager, placement/StripedReplicaPlacer), since
// people and tools read them. They are here, not beside one decider, so that
// every Control refuses the same things with the same words.

// CheckNewTopic says why a topic can't be made on top of i; nil: it can.
func (i *Image) CheckNewTopic(t *NewTopic) *kafka.Error {
	if _, exists := i.Topic(t.Name); exists {
		return kafka.ErrTopicAlreadyExists.Err(fmt.Sprintf("Topic '%s' already exists.", t.Name))
	}
	if t.Assignment != nil {
		return i.checkAssignment(t.Assignment, 0, 0)
	}
	if t.ReplicationFactor <= 0 {
		return kafka.ErrInvalidReplicationFactor.Err("Replication factor must be larger than 0, or -1 to use the default value.")
	}
	if t.PartitionCount <= 0 {
		return kafka.ErrInvalidPartitions.Err("Number of partitions was set to an invalid non-positive value.")
	}
	if why := i.cannotReplicate(int(t.ReplicationFactor)); why != "" {
		return kafka.ErrInvalidReplicationFactor.Err(fmt.Sprintf(
			"Unable to replicate the partition %d time(s): %s", t.ReplicationFactor, why))
	}
	return nil
}

// CheckNewPartitions says why a topic can't grow; nil: it can.
func (i *Image) CheckNewPartitions(n *NewPartitions) *kafka.Error {
	t, exists := i.Topic(n.Topic)
	if !exists {
		return kafka.ErrUnknownTopicOrPartition.Err("")
	}
	have := int32(len(t.Partitions))
	switch {
	case n.Count == have:
		return kafka.ErrInvalidPartitions.Err(fmt.Sprintf("Topic already has %d partition(s).", have))
	case n.Count < have:
		return kafka.ErrInvalidPartitions.Err(fmt.Sprintf(
			"The topic %s currently has %d partition(s); %d would not be an increase.", n.Topic, have, n.Count))
	}
	factor := len(t.Partitions[0].Replicas)
	if n.Assignment == nil {
		if why := i.cannotReplicate(factor); why != "" {
			return kafka.ErrInvalidReplicationFactor.Err(why)
		}
		return nil
	}
	if int32(len(n.Assignment)) != n.Count-have {
		return kafka.ErrInvalidReplicaAssignment.Err(fmt.Sprintf(
			"Attempted to add %d additional partition(s), but only %d assignment(s) were specified.",
			n.Count-have, len(n.Assignment)))
	}
	return i.checkAssignment(n.Assignment, have, factor)
}

// CheckPluginChange says why an entry of the plugin catalogue can't be changed; nil:
// it can. seen has the names of the changes before it in one request, whose outcome
// the caller could not see. Kafka has no such thing: the texts are ours.
func (i *Image) CheckPluginChange(c *PluginChange, seen map[string]bool) *kafka.Error {
	again := seen[c.Name]
	seen[c.Name] = true
	var now uint64
	entry, exists := i.Plugin(c.Name)
	if exists {
		now = entry.Changed
	}
	switch {
	case c.Name == "":
		return kafka.ErrInvalidRequest.Err("A plugin entry needs a name.")
	case len(c.Spec) > PluginSpecMax:
		return kafka.ErrInvalidRequest.Err(fmt.Sprintf("The entry %s has %d bytes; at most %d are kept.", c.Name, len(c.Spec), PluginSpecMax))
	case c.Previous != now || again:
		return kafka.ErrRequestTimedOut.Err(fmt.Sprintf("The entry %s was changed at the same time by another request.", c.Name))
	case !exists && c.Spec == "":
		return kafka.ErrResourceNotFound.Err(fmt.Sprintf("There is no plugin entry %s.", c.Name))
	case !exists && i.PluginCount() >= PluginEntriesMax:
		return kafka.ErrPolicyViolation.Err(fmt.Sprintf("The catalogue is full: it has %d entries.", PluginEntriesMax))
	}
	return nil
}

// AlterPlugin makes a change that passed CheckPluginChange.
func (e *Edit) AlterPlugin(c *PluginChange) {
	if c.Spec == "" {
		e.RemovePlugin(c.Name)
		return
	}
	e.PutPlugin(&PluginEntry{Name: c.Name, Spec: c.Spec, Changed: e.next.Index})
}

// cannotReplicate says why no partition can have so many replicas; empty: it can.
func (i *Image) cannotReplicate(factor int) string {
	unfenced := 0
	for b := range i.Brokers() {
		if b.Active() {
			unfenced++
		}
	}
	switch {
	case unfenced == 0:
		return "All brokers are currently fenced."
	case factor > i.BrokerCount():
		return fmt.Sprintf("The target replication factor of %d cannot be reached because only %d broker(s) are registered or some brokers have all their log directories cordoned.",
			factor, i.BrokerCount())
	}
	return ""
}

// checkAssignment looks at replica lists that somebody wrote by hand for the
// partitions from first on. factor is how many replicas each must have; 0 means
// as many as the first one.
func (i *Image) checkAssignment(assignment [][]kafka.BrokerID, first int32, factor int) *kafka.Error {
	for n, replicas := range assignment {
		if why := i.badReplicas(replicas, factor); why != "" {
			return kafka.ErrInvalidReplicaAssignment.Err("The manual partition assignment includes " + why)
		}
		factor = len(replicas)
		if !slices.ContainsFunc(replicas, i.alive) {
			return kafka.ErrInvalidReplicaAssignment.Err(fmt.Sprintf(
				"All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.",
				first+int32(n)))
		}
	}
	return nil
}

// CheckReplicas says why no partition can have the replicas; nil: one can.
func (i *Image) CheckReplicas(replicas []kafka.BrokerID) *kafka.Error {
	if why := i.badReplicas(replicas, 0); why != "" {
		return kafka.ErrInvalidReplicaAssignment.Err("The manual partition assignment includes " + why)
	}
	return nil
}

// badReplicas says what is wrong with one replica list. As in Kafka the lowest
// broker id with a fault is the one that is named.
func (i *Image) badReplicas(replicas []kafka.BrokerID, factor int) string {
	if len(replicas) == 0 {
		return "an empty replica list."
	}
	sorted := slices.Sorted(slices.Values(replicas))
	for n, id := range sorted {
		if _, known := i.Broker(id); !known {
			return fmt.Sprintf("broker %d, but no such broker is registered.", id)
		}
		if n > 0 && id == sorted[n-1] {
			return fmt.Sprintf("the broker %d more than once.", id)
		}
	}
	if factor > 0 && len(replicas) != factor {
		return fmt.Sprintf("a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).",
			len(replicas), factor)
	}
	return ""
}

// alive says whether a broker may be elected.
func (i *Image) alive(id kafka.BrokerID) bool {
	b, known := i.Broker(id)
	return known && b.Active()
}

// NewPartition is a partition that has just been made on the given replicas,
// which passed CheckNewTopic or CheckNewPartitions: the ISR is who is alive, the
// leader the first of them. It keeps replicas.
func (i *Image) NewPartition(replicas []kafka.BrokerID) Partition {
	isr := make([]kafka.BrokerID, 0, len(replicas))
	for _, id := range replicas {
		if i.alive(id) {
			isr = append(isr, id)
		}
	}
	return Partition{Replicas: replicas, ISR: isr, Leader: isr[0], LastKnownLeader: kafka.NoBroker}
}
