package api

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
	"github.com/mortisemq/mortise/core/meta"
)

// partitionsPerFile is how many partitions a broker holds for each file that the
// process may have open. Segments are opened when they are needed, so that there
// may be many more partitions than files; beyond this a broker would do little
// else than open and close them.
const partitionsPerFile = 20

// room counts the partition replicas that brokers may still take.
type room struct {
	left  int64
	limit string // what the limit is, for the refusal; empty: there is none
}

// newRoom measures what is left in an image. Replicas are spread over all brokers,
// which are taken to be alike.
func (a *API) newRoom(img *meta.Image) *room {
	b := a.broker(img)
	var most int64
	var limit string
	switch {
	case b.MaxPartitionsPerNode >= 0:
		most = int64(b.MaxPartitionsPerNode)
		limit = fmt.Sprintf("mortise.max.partitions.per.node is %d", b.MaxPartitionsPerNode)
	case a.deps.OpenFiles > 0:
		most = int64(a.deps.OpenFiles) * partitionsPerFile
		limit = fmt.Sprintf("the open-file limit of the process (ulimit -n) is %d, which carries %d", a.deps.OpenFiles, most)
	default:
		return &room{}
	}
	brokers := int64(max(img.BrokerCount(), 1))
	return &room{left: most*brokers - int64(img.ReplicaCount()), limit: limit}
}

// take takes room for a topic, or says that there is none.
func (r *room) take(t *meta.NewTopic) *kafka.Error {
	replicas := int64(t.PartitionCount) * int64(t.ReplicationFactor)
	if t.Assignment != nil {
		replicas = 0
		for _, list := range t.Assignment {
			replicas += int64(len(list))
		}
	}
	return r.takeReplicas(replicas)
}

// takeReplicas takes room for so many replicas.
func (r *room) takeReplicas(n int64) *kafka.Error {
	if r.limit == "" || n <= 0 {
		return nil
	}
	if n > r.left {
		return kafka.ErrPolicyViolation.Err(fmt.Sprintf(
			"Too many partitions for a broker: %s; there is room for %d more replica(s), %d asked for.", r.limit, max(r.left, 0), n))
	}
	r.left -= n
	return nil
}
