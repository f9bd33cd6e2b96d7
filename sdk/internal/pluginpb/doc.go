// Package pluginpb is Go generated from sdk/proto/v1 by `make proto`: the messages
// between a broker and a plugin's process. Package rpc converts them; nothing else
// may look at them.
package pluginpb
