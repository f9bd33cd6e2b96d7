package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mortisemq/mortise/sdk/auth"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// lookEvery is how often a Watch looks for another policy.
const lookEvery = 5 * time.Millisecond

// muteFor is how late the first news of one that is mute are.
const muteFor = 500 * time.Millisecond

// policy is what the authenticator and the authorizers go by. The file is read for
// each question: what it says counts at once.
type policy struct {
	File string `json:"policy"`
	TTL  string `json:"ttl"` // for how long answers may be remembered
	ttl  time.Duration
}

func newPolicy(c plugin.Config) (policy, error) {
	p := policy{TTL: "0s"}
	err := c.Decode(&p)
	if err == nil {
		p.ttl, err = time.ParseDuration(p.TTL)
	}
	return p, err
}

// closedPrefix begins the names that are always refused.
const closedPrefix = "closed"

// pushPrefix begins the names that the authorizer decide leaves to the authorizer push.
const pushPrefix = "push-"

// refused are the names that are refused now, beside those with closedPrefix.
func (p *policy) refused() []string {
	text, err := os.ReadFile(p.File)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// allows says whether a name is one that is not refused.
func (p *policy) allows(name string) bool {
	return !strings.HasPrefix(name, closedPrefix) && !slices.Contains(p.refused(), name)
}

// watch calls changed now, and after each change of the policy or of the fault, until
// ctx is done.
func (p *policy) watch(ctx context.Context, f faultFile, changed func(refused []string, epoch uint64) error) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	if f.now() == "mute" { // only its news are late
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(muteFor):
		}
	}
	for epoch := uint64(1); ; epoch++ {
		refused, fault := p.refused(), f.now()
		if err := changed(refused, epoch); err != nil {
			return err
		}
		for slices.Equal(p.refused(), refused) && f.now() == fault {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-look.C:
			}
		}
	}
}

// rules are the policy as rules: those that deny win over the one that allows.
func rules(refused []string) []auth.Rule {
	all := []auth.Rule{}
	for _, t := range []auth.ResourceType{auth.Topic, auth.Group, auth.Cluster} {
		of := func(p auth.Permission, pattern auth.PatternType, name string) auth.Rule {
			return auth.Rule{Resource: t, Pattern: pattern, Name: name, Principal: "User:*", Host: auth.Wildcard, Operation: auth.OpAll, Permission: p}
		}
		all = append(all, of(auth.PermissionAllow, auth.Literal, auth.Wildcard), of(auth.PermissionDeny, auth.Prefixed, pushPrefix+closedPrefix))
		for _, name := range refused {
			all = append(all, of(auth.PermissionDeny, auth.Literal, name))
		}
	}
	return all
}
