package meta

import (
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

// Feature is a cluster-wide switch that brokers agree on (KIP-584): the levels
// that this build supports and the one that a new cluster starts with.
type Feature struct {
	Name     string
	Min, Max int16
	Initial  int16 // 0: not finalized at first
}

// SupportedFeatures are the features of this build in the order of their names.
// A feature is here when all that it promises is there, and not before.
func SupportedFeatures() []Feature {
	return []Feature{
		{Name: "metadata.version", Min: 7, Max: 33, Initial: 33}, // 3.3-IV3 … 4.4-IV2
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
	}
	return nil
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
