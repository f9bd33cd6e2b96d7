package segment

import (
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/core/kafka"
)

// Ext is the kind of a file, by the end of its name.
type Ext string

// Kafka's kinds of files, and the marks that it puts behind them.
const (
	Log       Ext = ".log"
	Index     Ext = ".index"
	TimeIndex Ext = ".timeindex"
	TxnIndex  Ext = ".txnindex"
	Snapshot  Ext = ".snapshot"

	// Deleted marks a file that waits for its removal.
	Deleted = ".deleted"
	// Cleaned marks a file that is being written to take another's place.
	Cleaned = ".cleaned"
	// Swap marks a complete file that takes another's place.
	Swap = ".swap"
)

// offsetDigits is the width of the offset in a file name.
const offsetDigits = 20

// Name is the file's name: the offset in 20 digits and the kind.
func Name(base kafka.Offset, ext Ext) string {
	var b [48]byte
	return string(appendName(b[:0], base, ext))
}

func appendName(dst []byte, base kafka.Offset, ext Ext) []byte {
	var digits [offsetDigits]byte
	n := strconv.AppendInt(digits[:0], int64(base), 10)
	for range offsetDigits - len(n) {
		dst = append(dst, '0')
	}
	dst = append(dst, n...)
	return append(dst, ext...)
}

// ParseName takes a file name apart: its offset, its kind and the mark behind it
// ("" or one of Deleted, Cleaned, Swap). ok is false for other files.
func ParseName(name string) (base kafka.Offset, ext Ext, mark string, ok bool) {
	if len(name) <= offsetDigits {
		return 0, "", "", false
	}
	n, err := strconv.ParseUint(name[:offsetDigits], 10, 63)
	if err != nil {
		return 0, "", "", false
	}
	rest := name[offsetDigits:]
	for _, m := range []string{Deleted, Cleaned, Swap} {
		if cut, found := strings.CutSuffix(rest, m); found {
			rest, mark = cut, m
			break
		}
	}
	switch e := Ext(rest); e {
	case Log, Index, TimeIndex, TxnIndex, Snapshot:
		return kafka.Offset(n), e, mark, true
	}
	return 0, "", "", false
}
