package main

import (
	"github.com/mortisemq/mortise/plugins/auth/acl"
	"github.com/mortisemq/mortise/plugins/auth/fileusers"
	"github.com/mortisemq/mortise/plugins/auth/rules"
	"github.com/mortisemq/mortise/plugins/partitioner/crc32"
	"github.com/mortisemq/mortise/plugins/partitioner/fnv1a"
	"github.com/mortisemq/mortise/plugins/partitioner/murmur2"
	"github.com/mortisemq/mortise/plugins/partitioner/rangebyprefix"
	"github.com/mortisemq/mortise/plugins/partitioner/roundrobin"
	"github.com/mortisemq/mortise/plugins/partitioner/sticky"
	"github.com/mortisemq/mortise/plugins/storage/budget"
	"github.com/mortisemq/mortise/plugins/storage/consumed"
	"github.com/mortisemq/mortise/plugins/storage/timesize"
	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// builtins are the plugins that are compiled in, by kind. A vendor's build adds to
// this list.
func builtins() []plugin.Plugin {
	return []plugin.Plugin{
		murmur2.Plugin(), crc32.Plugin(), fnv1a.Plugin(), sticky.Plugin(), roundrobin.Plugin(), rangebyprefix.Plugin(),
		fileusers.Plugin(),
		acl.Plugin(), rules.Plugin(),
		timesize.Plugin(), consumed.Plugin(), budget.Plugin(),
	}
}

// builtinRetention is the retention rule of topics that name none.
func builtinRetention() storage.Retention { return timesize.Retention{} }
