package meta

import (
	"iter"
)

// PluginEntry is one entry of the cluster's plugin catalogue: what shall run on
// every broker. The spec is JSON that the brokers' supervisors read (package
// pluginhost); those who decide carry it as it is, so that a new field of it needs
// no new way to decide.
type PluginEntry struct {
	Name string
	Spec string
	// Changed is the Index of the change that wrote it.
	Changed uint64
}

// Bounds of the catalogue.
const (
	PluginEntriesMax = 256
	PluginSpecMax    = 2 << 20 // bytes of one entry
)

// PluginChange replaces one entry of the catalogue.
type PluginChange struct {
	Name string
	// Previous guards against a change in between: the Changed of the entry that the
	// caller saw; 0: there was none.
	Previous uint64
	Spec     string // empty: the entry goes
}

// Plugins are all entries of the catalogue by name.
func (i *Image) Plugins() iter.Seq[*PluginEntry] {
	return func(yield func(*PluginEntry) bool) {
		it := i.plugins.Root().Iterator()
		for _, p, ok := it.Next(); ok; _, p, ok = it.Next() {
			if !yield(p) {
				return
			}
		}
	}
}

// Plugin finds an entry of the catalogue.
func (i *Image) Plugin(name string) (*PluginEntry, bool) { return i.plugins.Get([]byte(name)) }

// PluginCount is the number of entries of the catalogue.
func (i *Image) PluginCount() int { return i.plugins.Len() }

// PutPlugin adds an entry of the catalogue or replaces it. The edit keeps p.
func (e *Edit) PutPlugin(p *PluginEntry) {
	e.plugins.Insert([]byte(p.Name), p)
	e.next.PluginEpoch = max(e.next.PluginEpoch, p.Changed)
}

// RemovePlugin takes an entry of the catalogue away.
func (e *Edit) RemovePlugin(name string) {
	if _, was := e.plugins.Delete([]byte(name)); was {
		e.next.PluginEpoch = e.next.Index
	}
}

// SetPluginEpoch is for restoring an image.
func (e *Edit) SetPluginEpoch(epoch uint64) { e.next.PluginEpoch = epoch }
