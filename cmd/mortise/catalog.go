package main

import (
	"github.com/mortisemq/mortise/plugins/storage/timesize"
	"github.com/mortisemq/mortise/sdk/storage"
)

// builtinRetention is the retention rule that is compiled in.
func builtinRetention() storage.Retention { return timesize.Retention{} }
