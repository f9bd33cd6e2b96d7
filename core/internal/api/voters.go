package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// voterKey names a voter as Kafka does: a node by its id and its directory, so that a
// node which lost its disk is another one.
type voterKey struct {
	id        kafka.BrokerID
	directory kafka.TopicID
}

// String is Kafka's text.
func (k voterKey) String() string {
	return fmt.Sprintf("ReplicaKey(id=%d, directoryId=%s)", k.id, k.directory)
}

// check says whether the request that has it is about this cluster and names anybody;
// what is "Add" or "Remove".
func (k voterKey) check(img *meta.Image, cluster *string, what string) *kafka.Error {
	switch {
	case cluster != nil && *cluster != img.ClusterID:
		return kafka.ErrInconsistentClusterID.Err(fmt.Sprintf("The given id \"%s\" doesn't match the cluster id \"%s\"", *cluster, img.ClusterID))
	case k.id < 0 || k.directory == kafka.NoTopicID:
		return kafka.ErrInvalidRequest.Err(what + " voter request didn't include a valid voter")
	}
	return nil
}

// voterKeys are replicas of the control log as Kafka lists them.
func voterKeys(replicas []meta.QuorumReplica) string {
	all := make([]string, len(replicas))
	for i, r := range replicas {
		all[i] = voterKey{r.ID, r.DirectoryID}.String()
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// among reports whether the replicas have the key.
func (k voterKey) among(replicas []meta.QuorumReplica) bool {
	return slices.ContainsFunc(replicas, func(r meta.QuorumReplica) bool { return r.ID == k.id && r.DirectoryID == k.directory })
}
