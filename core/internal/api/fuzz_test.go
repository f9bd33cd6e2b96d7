package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/wire"
)

// adminKeys are the keys that need no logs.
func adminKeys() []int16 { return []int16{3, 18, 19, 20, 32, 33, 37, 44, 46, 55, 57, 60, 74, 75} }

// FuzzAdminKeys sends anything to the admin keys: each request is answered or ends
// its connection, exactly once, and an answer reads as what it says that it is.
func FuzzAdminKeys(f *testing.F) {
	for i, key := range adminKeys() {
		m := kmsg.RequestForKey(key)
		for version := int16(0); version <= m.MaxVersion(); version++ {
			m.SetVersion(version)
			f.Add(uint8(i), version, m.AppendTo(nil))
		}
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.SetVersion(7)
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "a", NumPartitions: 1, ReplicationFactor: 1, Configs: []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms"}}}}
	f.Add(uint8(2), int16(7), create.AppendTo(nil))
	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	alter.SetVersion(1)
	alter.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: 4, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "log.cleanup.policy", Op: 2, Value: kmsg.StringPtr("compact")}}}}
	f.Add(uint8(7), int16(1), alter.AppendTo(nil))

	rig := newAdminRig(f, adminOptions{}, "a:3", "b")
	f.Fuzz(func(t *testing.T, which uint8, version int16, body []byte) {
		key := adminKeys()[int(which)%len(adminKeys())]
		r, rec := wire.RecordBytes(wire.Header{Key: key, Version: version, CorrelationID: 1}, body)
		rig.api.Handle(r)
		frame, err := rec.Frame()
		if err != nil {
			return
		}
		resp := kmsg.ResponseForKey(key)
		resp.SetVersion(version)
		if _, max, _ := rig.api.Versions(key); key == 18 && (version < 0 || version > max) {
			resp.SetVersion(0)
		}
		skip := 8
		if wire.Flexible(key, resp.GetVersion()) && key != 18 {
			skip++
		}
		if err := resp.ReadFrom(frame[skip:]); err != nil {
			t.Errorf("key %d version %d: the answer can't be read: %v", key, version, err)
		}
	})
}
