package record

import "testing"

func TestNames(t *testing.T) {
	for c := range codecCount {
		want := CompressionType(c) + 1
		if got := want.Target(LZ4); got != c {
			t.Errorf("compression.type %s stores as %s", want, got)
		}
		if got := CompressProducer.Target(c); got != c {
			t.Errorf("producer stores %s as %s", c, got)
		}
	}
	for t1 := CompressProducer; t1 <= CompressZstd; t1++ {
		if got, err := ParseCompressionType(t1.String()); err != nil || got != t1 {
			t.Errorf("%s is %s, %v", t1, got, err)
		}
	}
	for _, tt := range []TimestampType{CreateTime, LogAppendTime} {
		if got, err := ParseTimestampType(tt.String()); err != nil || got != tt {
			t.Errorf("%s is %s, %v", tt, got, err)
		}
	}
	if _, err := ParseCompressionType("none"); err == nil {
		t.Error("a compression.type none")
	}
	if _, err := ParseTimestampType("createtime"); err == nil {
		t.Error("a timestamp type createtime")
	}
	if s := Codec(6).String(); s != "unknown-6" {
		t.Error(s)
	}
}
