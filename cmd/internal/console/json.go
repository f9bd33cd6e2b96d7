package console

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// jsonRecord is one line of JSON output. A key or value that is not UTF-8 is
// given in base64 under another name, so that no byte is lost.
type jsonRecord struct {
	Topic       string       `json:"topic"`
	Partition   int32        `json:"partition"`
	Offset      int64        `json:"offset"`
	TimestampMS int64        `json:"timestamp_ms"`
	Headers     []jsonHeader `json:"headers,omitempty"`
	Key         *string      `json:"key,omitempty"`
	KeyBase64   *string      `json:"key_base64,omitempty"`
	Value       *string      `json:"value,omitempty"`
	ValueBase64 *string      `json:"value_base64,omitempty"`
}

type jsonHeader struct {
	Name        string  `json:"name"`
	Value       *string `json:"value,omitempty"`
	ValueBase64 *string `json:"value_base64,omitempty"`
}

// AppendJSON adds the record as one line of JSON.
func AppendJSON(b []byte, r *kgo.Record) ([]byte, error) {
	out := jsonRecord{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, TimestampMS: r.Timestamp.UnixMilli()}
	out.Key, out.KeyBase64 = jsonBytes(r.Key)
	out.Value, out.ValueBase64 = jsonBytes(r.Value)
	for _, h := range r.Headers {
		header := jsonHeader{Name: h.Key}
		header.Value, header.ValueBase64 = jsonBytes(h.Value)
		out.Headers = append(out.Headers, header)
	}
	line, err := json.Marshal(out)
	return append(append(b, line...), '\n'), err
}

// jsonBytes gives bytes as text, or in base64 when they are not text. Both are
// nil for null.
func jsonBytes(b []byte) (text, encoded *string) {
	if b == nil {
		return nil, nil
	}
	if utf8.Valid(b) {
		s := string(b)
		return &s, nil
	}
	s := base64.StdEncoding.EncodeToString(b)
	return nil, &s
}
