package record

import (
	"fmt"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
)

// maxRecordErrors bounds the records that one refusal names, so that a batch of a
// million bad records does not make an answer of a hundred megabytes.
const maxRecordErrors = 1000

// shownRecordErrors is how many of them Kafka repeats in the batch's own message.
const shownRecordErrors = 3

// walk checks the records of one batch against the rules.
type walk struct {
	batch Batch
	rules *Rules
	codec Codec
	stamp TimestampType // of the batch
	base  int64         // its base timestamp

	max       int64 // the largest timestamp, and which record has it first
	maxAt     int32
	scattered bool // offset deltas are not 0 to n-1

	bad      []RecordError
	badCount int
	badTime  bool
}

// run walks all records. A record that is no record ends the walk; one that
// breaks a rule does not, so that the client hears of all of them.
//
// Cost: no allocation unless a record is bad.
func (w *walk) run(records []byte) error {
	var e entry
	count := w.batch.Count()
	w.base = w.batch.BaseTimestamp()
	for i := range count {
		rest, bad := e.parse(records)
		if bad == nil && w.codec != None && w.rules.MaxRecordBytes > 0 && int(e.size) > w.rules.MaxRecordBytes {
			bad = badRecord("Invalid record size: %d exceeds the configured maximum record size of %d.",
				e.size, w.rules.MaxRecordBytes)
		}
		if bad == nil && i == count-1 && len(rest) > 0 {
			bad = recordsRemain()
		}
		if bad != nil {
			return invalid("record %d of %s: %s", i, w.rules.TP, bad.text)
		}
		records = rest
		ts := w.timestamp(&e)
		if w.breaks(i, &e, ts) {
			continue
		}
		if ts > w.max {
			w.max, w.maxAt = ts, i
		}
		if e.offsetDelta != i {
			w.scattered = true
		}
	}
	return w.refusal()
}

func (w *walk) timestamp(e *entry) int64 {
	if w.stamp == LogAppendTime {
		return w.batch.MaxTimestamp()
	}
	return w.base + e.timestampDelta
}

// breaks checks one record against the topic's rules.
func (w *walk) breaks(i int32, e *entry, ts int64) bool {
	r := w.rules
	if r.Compacted && e.key == nil {
		w.complain(i, "Compacted topic cannot accept message without key in topic partition %s", r.TP)
		return true
	}
	if r.TimestampType == CreateTime && ts != NoTimestamp {
		// The difference wraps around as it does in Kafka.
		age := r.NowMS - ts
		if age <= r.BeforeMaxMS && -age <= r.AfterMaxMS {
			return false
		}
		w.badTime = true
		w.complain(i, "Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
			ts, w.batch.BaseOffset()+kafka.Offset(e.offsetDelta), r.NowMS-r.BeforeMaxMS, r.NowMS+r.AfterMaxMS)
		return true
	}
	if w.stamp == LogAppendTime {
		w.badTime = true
		w.complain(i, "Invalid timestamp type in message %s. Producer should not set timestamp type to LogAppendTime.",
			w.describe(e, ts))
		return true
	}
	return false
}

// describe is how Kafka prints a record. It knows sizes only, and it reads a
// compressed batch that it will not rebuild without keys and values.
func (w *walk) describe(e *entry, ts int64) string {
	kind, key, value := "DefaultRecord", len(e.key), len(e.value)
	if w.codec != None && w.rules.Compression.Target(w.codec) == w.codec {
		kind = "PartialDefaultRecord"
		if e.key == nil {
			key = -1
		}
		if e.value == nil {
			value = -1
		}
	}
	return fmt.Sprintf("%s(offset=%d, timestamp=%d, key=%d bytes, value=%d bytes)", kind,
		w.batch.BaseOffset()+kafka.Offset(e.offsetDelta), ts, key, value)
}

func (w *walk) complain(i int32, format string, args ...any) {
	w.badCount++
	if len(w.bad) < maxRecordErrors {
		w.bad = append(w.bad, RecordError{Index: i, Message: fmt.Sprintf(format, args...)})
	}
}

// refusal is the error for the records that broke rules, nil if none did.
func (w *walk) refusal() error {
	if w.badCount == 0 {
		return nil
	}
	if w.badTime {
		return &InvalidError{Code: kafka.ErrInvalidTimestamp, Records: w.bad,
			Message: "One or more records have been rejected due to invalid timestamp"}
	}
	var shown strings.Builder
	for i, e := range w.bad[:min(len(w.bad), shownRecordErrors)] {
		if i > 0 {
			shown.WriteString(", ")
		}
		fmt.Fprintf(&shown, "RecordError(batchIndex=%d, message='%s')", e.Index, e.Message)
	}
	return &InvalidError{Code: kafka.ErrInvalidRecord, Records: w.bad,
		Message: fmt.Sprintf("One or more records have been rejected due to %d record errors in total, "+
			"and only showing the first three errors at most: [%s]", w.badCount, shown.String())}
}
