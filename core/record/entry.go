package record

import "fmt"

// entry is one record as it stands in a records area. Its slices point into that.
type entry struct {
	timestampDelta int64
	offsetDelta    int32
	attributes     int8
	size           int32  // of the body, as declared
	key, value     []byte // nil is null
	headerCount    int32
	headers        []byte // encoded, without the count
	tail           []byte // key to end: what does not depend on the batch
}

// malformed says in Kafka's words why a records area is none.
type malformed struct{ text string }

func badRecord(format string, args ...any) *malformed {
	return &malformed{fmt.Sprintf(format, args...)}
}

// badStructure covers every length that points outside of its record.
func badStructure() *malformed { return badRecord("Found invalid record structure") }

// parse reads the first record of p, checks all of its lengths, and gives what
// follows it. Negative lengths of key and value are null, as Kafka reads them.
//
// Cost: no allocation unless the record is bad.
func (e *entry) parse(p []byte) (rest []byte, bad *malformed) {
	size, at := readVarint(p, 0)
	if at < 0 {
		return nil, badRecord("Incorrect declared batch size, premature EOF reached")
	}
	if size < 0 {
		return nil, badRecord("Invalid record size: %d is negative.", size)
	}
	if int(size) > len(p)-at {
		return nil, badRecord("Invalid record size: expected %d bytes in record payload, "+
			"but instead the buffer has only %d remaining bytes.", size, len(p)-at)
	}
	body := p[at : at+int(size)]
	if size == 0 {
		return nil, badStructure()
	}
	e.size = size
	e.attributes = int8(body[0])
	i := 1
	if e.timestampDelta, i = readVarlong(body, i); i < 0 {
		return nil, badStructure()
	}
	if e.offsetDelta, i = readVarint(body, i); i < 0 {
		return nil, badStructure()
	}
	e.tail = body[i:]
	if e.key, i = readBytes(body, i); i < 0 {
		return nil, badStructure()
	}
	if e.value, i = readBytes(body, i); i < 0 {
		return nil, badStructure()
	}
	if bad := e.parseHeaders(body, i); bad != nil {
		return nil, bad
	}
	return p[at+int(size):], nil
}

// parseHeaders walks the headers of body from their count at i; they must end
// where the body ends.
func (e *entry) parseHeaders(body []byte, i int) *malformed {
	count, i := readVarint(body, i)
	if i < 0 {
		return badStructure()
	}
	if count < 0 {
		return badRecord("Found invalid number of record headers %d", count)
	}
	if int(count) > len(body)-i {
		return badRecord("Found invalid number of record headers. "+
			"%d is larger than the remaining size of the buffer", count)
	}
	e.headerCount, e.headers = count, body[i:]
	for range count {
		n, j := readVarint(body, i)
		if j < 0 {
			return badStructure()
		}
		if n < 0 {
			return badRecord("Invalid negative header key size %d", n)
		}
		if int(n) > len(body)-j {
			return badStructure()
		}
		if _, i = readBytes(body, j+int(n)); i < 0 {
			return badStructure()
		}
	}
	if i != len(body) {
		return badRecord("Invalid record size: expected to read %d bytes in record payload, "+
			"but instead read %d", len(body), i)
	}
	return nil
}

// readBytes reads a length and that many bytes at p[i:] and gives the position
// after them, negative if they are not all there. A negative length is null.
func readBytes(p []byte, i int) ([]byte, int) {
	n, i := readVarint(p, i)
	if i < 0 {
		return nil, i
	}
	if n < 0 {
		return nil, i
	}
	end := i + int(n)
	if end > len(p) {
		return nil, varintCut
	}
	return p[i:end:end], end
}
