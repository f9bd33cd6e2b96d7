package meta

import (
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/core/kafka"
)

// Feature is a cluster-wide switch that brokers agree on (KIP-584): the levels
// that this build supports and the one that a new cluster starts with.
type Feature struct {
	Name     string
	Min, Max int16
	Initial  int16 // 0: not finalized at first
	// Changes are the levels that brought metadata which lower ones can't read:
	// there is no way back below one of them.
	Changes []int16
}

// GroupVersion is the feature that allows the consumer protocol, from level 1 on.
const GroupVersion = "group.version"

// SupportedFeatures are the features of this build in the order of their names.
// A feature is here when all that it promises is there, and not before.
func SupportedFeatures() []Feature {
	return []Feature{
		// 1: who left the ISR below min.insync.replicas stays eligible (KIP-966). Partitions
		// say so from then on, and always do here: there is no way back. A broker may have a
		// min.insync.replicas of its own all the same, since the lowest counts.
		{Name: "eligible.leader.replicas.version", Min: 0, Max: 1, Initial: 1, Changes: []int16{1}},
		{Name: GroupVersion, Min: 0, Max: 1, Initial: 1}, // 1: the consumer protocol (KIP-848)
		{Name: "metadata.version", Min: 7, Max: 33, Initial: 33, // 3.3-IV3 … 4.4-IV2
			Changes: []int16{7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33}},
	}
}

// CheckFeatureUpdate says why a feature can't get the level; nil: it can. self
// is the broker that decides, which Kafka's text names.
func (i *Image) CheckFeatureUpdate(u *FeatureUpdate, self kafka.BrokerID) *kafka.Error {
	refuse := func(why string) *kafka.Error {
		return kafka.ErrInvalidUpdateVersion.Err(fmt.Sprintf("Invalid update version %d for feature %s. %s", u.Level, u.Name, why))
	}
	if u.Downgrade < UpgradeOnly || u.Downgrade > UnsafeDowngrade {
		return refuse("The controller does not support the given upgrade type.")
	}
	if u.Level < 0 {
		return refuse("A feature version cannot be less than 0.")
	}
	if why := notSupported(u); why != "" {
		return refuse(fmt.Sprintf("Local controller %d %s", self, why))
	}
	switch present := i.Features()[u.Name]; {
	case u.Level < present && u.Downgrade == UpgradeOnly:
		return refuse("Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.")
	case u.Level > present && u.Downgrade != UpgradeOnly:
		return refuse("Can't downgrade to a newer version.")
	case u.Level < present && losesMetadata(u.Name, present, u.Level):
		why := "Refusing to perform the requested downgrade because it might delete metadata information."
		if u.Downgrade == UnsafeDowngrade {
			why = "Unsafe metadata downgrade is not supported in this version."
		}
		return kafka.ErrInvalidUpdateVersion.Err(fmt.Sprintf("Unsupported %s downgrade from %d to %d. %s", u.Name, present, u.Level, why))
	}
	return nil
}

// losesMetadata reports whether a level between to and from, from included, has
// brought metadata that to can't read.
func losesMetadata(name string, from, to int16) bool {
	for _, f := range SupportedFeatures() {
		if f.Name == name {
			return slices.ContainsFunc(f.Changes, func(level int16) bool { return to < level && level <= from })
		}
	}
	return false
}

// notSupported says why this build can't run at the level; empty: it can.
// Level 0 of a feature that may be absent takes it away.
func notSupported(u *FeatureUpdate) string {
	for _, f := range SupportedFeatures() {
		if f.Name != u.Name {
			continue
		}
		if u.Level < f.Min || u.Level > f.Max {
			return fmt.Sprintf("only supports versions %d-%d", f.Min, f.Max)
		}
		return ""
	}
	if u.Level == 0 {
		return "" // Kafka counts an unknown feature as one whose only level is 0
	}
	return "does not support this feature."
}
