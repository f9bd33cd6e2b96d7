package pluginhost

import (
	"bytes"
	"fmt"
	"math"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/partitioner"
	"github.com/mortisemq/mortise/sdk/storage"
)

// unanswered is what out holds before a partitioner is asked: no partition.
const unanswered = math.MinInt32

// checkPartitions holds answers to obligation 1 of a partitioner. Hot: no allocation
// unless one is broken.
func checkPartitions(r *partitioner.Request, out []int32) error {
	for i, p := range out {
		if p >= 0 && p < r.Partitions || p == partitioner.Any && len(r.Keys[i]) == 0 {
			continue
		}
		if p == unanswered {
			return fmt.Errorf("%w: key %d of %d has no partition", ErrBadAnswer, i, len(out))
		}
		return fmt.Errorf("%w: key %d: partition %d of %d", ErrBadAnswer, i, p, r.Partitions)
	}
	return nil
}

// checkResult holds the form of an authenticator's answer to its obligations. Whether
// the principal may be somebody's is for who asked.
func checkResult(p *auth.Peer, r *auth.Result) error {
	switch {
	case r.Outcome > auth.Unavailable:
		return fmt.Errorf("%w: outcome %d", ErrBadAnswer, r.Outcome)
	case !bytes.Equal(r.Nonce, p.Nonce):
		return fmt.Errorf("%w: the nonce is not the question's", ErrBadAnswer)
	case r.Outcome == auth.Accept:
		return checkPrincipal(r)
	}
	return nil
}

// checkPrincipal refuses an identity with a part missing.
func checkPrincipal(r *auth.Result) error {
	switch {
	case r.PrincipalType == "" || r.PrincipalName == "":
		return fmt.Errorf("%w: principal %q:%q", ErrBadAnswer, r.PrincipalType, r.PrincipalName)
	case r.Lifetime < 0 || r.CacheTTL < 0:
		return fmt.Errorf("%w: lifetime %v, cache TTL %v", ErrBadAnswer, r.Lifetime, r.CacheTTL)
	}
	return nil
}

// checkScram holds a credential to what the arithmetic needs (RFC 5802).
func checkScram(p *auth.Peer, c *auth.ScramCredential) error {
	switch {
	case !bytes.Equal(c.Principal.Nonce, p.Nonce):
		return fmt.Errorf("%w: the nonce is not the question's", ErrBadAnswer)
	case !c.Found:
		return nil
	case len(c.Salt) == 0 || len(c.StoredKey) == 0 || len(c.ServerKey) != len(c.StoredKey) || c.Iterations <= 0:
		return fmt.Errorf("%w: a SCRAM credential lacks a part", ErrBadAnswer)
	}
	return checkPrincipal(&c.Principal)
}

// checkDecisions holds the form of decisions to obligation 1 of an authorizer. Hot: no
// allocation unless it is broken.
func checkDecisions(out []auth.Decision) error {
	for i, d := range out {
		if d.Verdict > auth.Abstain || d.CacheTTL < 0 {
			return fmt.Errorf("%w: decision %d: verdict %d, TTL %v", ErrBadAnswer, i, d.Verdict, d.CacheTTL)
		}
	}
	return nil
}

// checkVerdicts holds a retention's answer to obligations 2 and 3: each verdict
// names a log of the question with its epoch, once, and counts segments it has.
func checkVerdicts(logs []storage.LogFacts, verdicts []storage.Verdict) error {
	if len(verdicts) > len(logs) {
		return fmt.Errorf("%w: %d verdicts on %d logs", ErrBadAnswer, len(verdicts), len(logs))
	}
	type id struct {
		topic     string
		partition int32
	}
	asked := make(map[id]*storage.LogFacts, len(logs))
	for i := range logs {
		asked[id{logs[i].Topic, logs[i].Partition}] = &logs[i]
	}
	for _, v := range verdicts {
		at := id{v.Topic, v.Partition}
		l := asked[at]
		switch {
		case l == nil:
			return fmt.Errorf("%w: a verdict on %q-%d, which was not asked for or has one already", ErrBadAnswer, v.Topic, v.Partition)
		case v.LeaderEpoch != l.LeaderEpoch:
			return fmt.Errorf("%w: %s-%d: leader epoch %d, asked with %d", ErrBadAnswer, v.Topic, v.Partition, v.LeaderEpoch, l.LeaderEpoch)
		case v.DeleteOldest < 0 || v.DeleteOldest > len(l.Segments):
			return fmt.Errorf("%w: %s-%d: delete %d of %d segments", ErrBadAnswer, v.Topic, v.Partition, v.DeleteOldest, len(l.Segments))
		}
		delete(asked, at)
	}
	return nil
}
