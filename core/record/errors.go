package record

import (
	"errors"
	"fmt"

	"github.com/mortisemq/mortise/core/kafka"
)

var (
	// ErrShort says that the bytes end before the batch does. At the end of a
	// file or of a fetch answer that is a torn or cut tail, not damage.
	ErrShort = errors.New("incomplete batch")

	// ErrCorrupt says that the bytes are no batch of format v2, or a damaged one.
	ErrCorrupt = errors.New("corrupt batch")

	// ErrTooLarge says that decompressing went over DecompressLimits. It wraps
	// nothing: the data may be legal, but this process refuses to hold it.
	ErrTooLarge = errors.New("decompressed batch is too large")
)

// NoOffsetDelta stands for "no record" where a delta to the base offset is asked.
const NoOffsetDelta int32 = -1

// RecordError tells what is wrong with one record of a refused batch (Produce v8+).
type RecordError struct {
	Index   int32  // position of the record in its batch, from 0
	Message string // for people
}

// InvalidError is a refusal whose message goes to the client, with the records to
// blame if there are some. The whole batch is refused, even if only one is named.
type InvalidError struct {
	Code    kafka.ErrorCode
	Message string        // for the whole batch
	Records []RecordError // at most maxRecordErrors of them; may be empty
}

// Error implements error.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}
