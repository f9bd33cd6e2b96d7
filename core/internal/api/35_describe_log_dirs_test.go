package api

import (
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mortisemq/mortise/core/kafka"
)

func TestDescribeLogDirs(t *testing.T) {
	d := newDataRig(t, map[string]int{"t": 2, "u": 1}, nil)
	d.mustProduce("t", 1)
	describe := func(version int16, topics []kmsg.DescribeLogDirsRequestTopic) kmsg.DescribeLogDirsResponseDir {
		m := kmsg.NewPtrDescribeLogDirsRequest()
		m.Version, m.Topics = version, topics
		resp := call[*kmsg.DescribeLogDirsResponse](d, d.a.describeLogDirs, m)
		if len(resp.Dirs) != 1 {
			t.Fatalf("%d directories, want 1", len(resp.Dirs))
		}
		return resp.Dirs[0]
	}
	dir := d.a.deps.Dirs.Dirs()[0]
	for version := int16(1); version <= 5; version++ {
		all := describe(version, nil)
		if all.Dir != dir.Path || len(all.Topics) != 2 || all.Topics[0].Topic != "t" || len(all.Topics[0].Partitions) != 2 {
			t.Fatalf("version %d: %+v", version, all)
		}
		if p := all.Topics[0].Partitions; p[0].Size != int64(len(records(1))) || p[1].Size != 0 || p[0].OffsetLag != 0 {
			t.Fatalf("version %d: sizes %+v", version, p)
		}
		if version >= 4 && (all.TotalBytes <= 0 || all.UsableBytes <= 0) {
			t.Fatalf("version %d: %d of %d bytes", version, all.UsableBytes, all.TotalBytes)
		}
	}
	one := kmsg.NewDescribeLogDirsRequestTopic()
	one.Topic, one.Partitions = "u", []int32{0, 9}
	if got := describe(4, []kmsg.DescribeLogDirsRequestTopic{one}); len(got.Topics) != 1 || got.Topics[0].Topic != "u" || len(got.Topics[0].Partitions) != 1 {
		t.Fatalf("one topic: %+v", got.Topics)
	}
	if got := describe(4, []kmsg.DescribeLogDirsRequestTopic{}); len(got.Topics) != 0 {
		t.Fatalf("no topics: %+v", got.Topics)
	}
	dir.Failed("test", syscall.EIO)
	if got := describe(4, nil); kafka.ErrorCode(got.ErrorCode) != kafka.ErrKafkaStorageError || len(got.Topics) != 0 {
		t.Fatalf("offline: %+v", got)
	}
}
