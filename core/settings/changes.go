package settings

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

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
	before := map[string]Value{}
	for _, v := range from.values {
		before[v.Key] = v
	}
	var changes []Change
	for _, v := range to.values {
		old := before[v.Key]
		_, had := before[v.Key]
		delete(before, v.Key)
		if !had || !reflect.DeepEqual(old.raw, v.raw) {
			changes = append(changes, Change{v.Key, old.Value, v.Value, !live(v.Key)})
		}
	}
	for _, v := range from.values { // in order; what is left was taken away
		if old, gone := before[v.Key]; gone {
			changes = append(changes, Change{v.Key, old.Value, nil, !live(v.Key)})
		}
	}
	return changes
}

// InForce is what a running broker works with after a reload from was to next:
// live keys as next says, the others as they were.
func InForce(was, next *Settings) *Settings {
	s := &Settings{Defaults: map[string]string{}}
	for _, v := range was.values {
		if !live(v.Key) {
			s.put(v)
		}
	}
	for _, v := range next.values {
		if live(v.Key) {
			s.put(v)
		}
	}
	slices.SortStableFunc(s.values, func(a, b Value) int { return cmp.Compare(rank(a.Key), rank(b.Key)) })
	return s
}

// put takes a value that was loaded before.
func (s *Settings) put(v Value) {
	s.values = append(s.values, v)
	if name, ok := strings.CutPrefix(v.Key, defaultsPath+" "); ok {
		s.Defaults[name] = fmt.Sprint(v.Value)
		return
	}
	for _, k := range Keys() {
		if k.Name() != v.Key {
			continue
		}
		if err := k.set(s, v.raw); err != nil {
			panic(fmt.Sprintf("BUG: %s was valid: %v", v.Key, err))
		}
	}
}

// rank is the place of a key in the order of the schema; Kafka's keys follow it.
func rank(key string) int {
	keys := Keys()
	if n := slices.IndexFunc(keys, func(k Key) bool { return k.Name() == key }); n >= 0 {
		return n
	}
	return len(keys)
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
