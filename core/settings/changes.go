package settings

import (
	"reflect"

	"github.com/mortisemq/mortise/core/config"
)

// Change is a value that differs between two settings.
type Change struct {
	Key      string `json:"key"`
	From, To any    `json:"-"`
	Restart  bool   `json:"restart"` // takes effect only at the next start
}

// Changes compares two settings. An operator who reloads is told which of the
// changes wait for a restart.
func Changes(from, to *Settings) []Change {
	before := map[string]any{}
	for _, v := range from.values {
		before[v.Key] = v.Value
	}
	var changes []Change
	for _, v := range to.values {
		old, had := before[v.Key]
		delete(before, v.Key)
		if !had || !reflect.DeepEqual(old, v.Value) {
			changes = append(changes, Change{v.Key, old, v.Value, !live(v.Key)})
		}
	}
	for _, v := range from.values { // in order; what is left was taken away
		if old, gone := before[v.Key]; gone {
			changes = append(changes, Change{v.Key, old, nil, !live(v.Key)})
		}
	}
	return changes
}

// live reports whether a reload is enough for the key as shown.
func live(key string) bool {
	for _, k := range Keys() {
		if shown(k.Path) == key {
			return k.Live
		}
	}
	for _, k := range config.BrokerKeys() {
		if shown(defaultsPath+delimiter+k.Name) == key {
			return k.Live
		}
	}
	return false
}
