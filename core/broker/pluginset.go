package broker

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"io"
	"slices"

	"github.com/mortisemq/mortise/core/pluginhost"
)

// PluginSet is a hash of the plugins that serve on this broker: which ones, their
// versions and their entries, which hold the digests of binaries. Brokers with the same
// plugins have the same; 0: they do not run yet.
func (b *Broker) PluginSet() uint64 {
	p := b.shown.plugins.Load()
	if p == nil {
		return 0
	}
	all := p.host.Status()
	slices.SortFunc(all, func(x, y pluginhost.Status) int { return cmp.Compare(x.Name, y.Name) })
	h := fnv.New64a()
	for _, s := range all {
		if s.Version == "" {
			continue // nobody serves under this name
		}
		spec, err := json.Marshal(s.Spec)
		if err != nil { // it was read from JSON
			continue
		}
		for _, part := range []string{s.Name, s.Plugin, s.Version, string(spec)} {
			io.WriteString(h, part) // a hash takes everything
			h.Write([]byte{0})
		}
	}
	return h.Sum64()
}
