package storage

import "testing"

// threeSegments are of ten offsets and 100 bytes each, the last active; times are
// those of their largest timestamps.
func threeSegments(times ...int64) *LogFacts {
	l := &LogFacts{Topic: "t", Partition: 1, LeaderEpoch: 3, NowMS: 1000, HighWatermark: 30, LastStable: 30}
	for i, at := range times {
		l.Segments = append(l.Segments, SegmentFacts{
			BaseOffset: int64(i) * 10, NextOffset: int64(i+1) * 10, Bytes: 100, MaxTimestampMS: at, ModifiedMS: at, Active: i == len(times)-1,
		})
	}
	return l
}

func TestDeletable(t *testing.T) {
	for _, c := range []struct {
		hw, lso, active int64
		want            int
	}{{30, 30, 100, 3}, {30, 30, 0, 2}, {29, 30, 100, 2}, {30, 19, 100, 1}, {30, 9, 100, 0}, {0, 0, 0, 0}} {
		l := threeSegments(0, 0, 0)
		l.HighWatermark, l.LastStable, l.Segments[2].Bytes = c.hw, c.lso, c.active
		if got := l.Deletable(); got != c.want {
			t.Errorf("below %d and %d, %d bytes in the active one: %d, want %d", c.hw, c.lso, c.active, got, c.want)
		}
	}
}

func TestWhile(t *testing.T) {
	l := threeSegments(100, 900, 300)
	for _, c := range []struct {
		name string
		goes func(s *SegmentFacts, left int64) bool
		want int
	}{
		{"all", func(*SegmentFacts, int64) bool { return true }, 3},
		{"none", func(*SegmentFacts, int64) bool { return false }, 0},
		{"a young one stops it", func(s *SegmentFacts, _ int64) bool { return l.AgeMS(s) > 500 }, 1},
		{"one byte stays", func(_ *SegmentFacts, left int64) bool { return left >= 1 }, 2},
		{"as many bytes stay", func(_ *SegmentFacts, left int64) bool { return left >= 100 }, 2},
		{"none but the active one may stay", func(s *SegmentFacts, _ int64) bool { return !s.Active }, 2},
	} {
		if got := l.While(c.goes); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	l.LastStable = 19
	if got := l.While(func(*SegmentFacts, int64) bool { return true }); got != 1 {
		t.Errorf("%d go below the last stable offset, want 1", got)
	}
}

func TestAgeMS(t *testing.T) {
	l := threeSegments()
	for _, c := range []struct{ timestamp, want int64 }{{500, 500}, {1000, 0}, {1001, 300}, {-1, 300}} {
		if got := l.AgeMS(&SegmentFacts{MaxTimestampMS: c.timestamp, ModifiedMS: 700}); got != c.want {
			t.Errorf("timestamp %d: age %d, want %d", c.timestamp, got, c.want)
		}
	}
}

func TestVerdictNamesItsLog(t *testing.T) {
	want := Verdict{Topic: "t", Partition: 1, LeaderEpoch: 3, DeleteOldest: 2, Reason: "why"}
	if got := threeSegments(1, 2, 3).Verdict(2, "why"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
