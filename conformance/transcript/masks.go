package transcript

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// masks holds the placeholders of one play of a transcript. Ids are named in the order in which answers show them.
type masks struct {
	ids    map[string]string   // value → placeholder, without the dollar sign
	values map[string]string   // placeholder → value
	next   map[string]int      // kind → how many were named
	fields map[string]string   // FIELD or Type.FIELD → what to print, from mask directives
	keeps  map[string][]string // FIELD or Type.FIELD → globs of the values kept, from keep directives.
	leaves map[string][]string // The same of the values left out, from drop directives.
	sorted map[string]bool     // Arrays whose order means nothing, from sort directives.
	host   string
	// anyError prints every error of the current step as $error.
	anyError bool
	port     string
}

func newMasks() *masks {
	return &masks{
		ids: map[string]string{}, values: map[string]string{}, next: map[string]int{},
		fields: map[string]string{}, keeps: map[string][]string{}, leaves: map[string][]string{},
		sorted: map[string]bool{"SupportedFeatures": true, "FinalizedFeatures": true},
	}
}

// name returns the placeholder of an id of the given kind, naming it on first sight.
func (m *masks) name(kind, value string) string {
	key := kind + " " + value
	if n, ok := m.ids[key]; ok {
		return "$" + n
	}
	m.next[kind]++
	n := kind + strconv.Itoa(m.next[kind])
	m.ids[key] = n
	m.values[n] = value
	return "$" + n
}

// mask decides whether a field of an answer is printed as a placeholder.
func (m *masks) mask(typ, field string, v reflect.Value) (string, bool) {
	if field == "ErrorCode" && v.IsZero() {
		return "", false
	}
	if field == "ErrorCode" && m.anyError {
		return "$error", true
	}
	if as, ok := m.fields[field]; ok {
		return as, true
	}
	if as, ok := m.fields[typ+"."+field]; ok {
		return as, true
	}
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	number := func() string { return fmt.Sprint(v.Interface()) }
	switch field {
	case "MemberID", "LeaderID":
		if v.Kind() == reflect.String && generatedID.MatchString(v.String()) {
			return m.name("member", v.String()), true
		}
	case "SessionID":
		return m.name("session", number()), true
	case "ProducerID":
		if v.CanInt() {
			return m.pid(v.Int()), true
		}
	case "ClusterID":
		m.values["cluster"] = v.String()
		return "$cluster", true
	case "Host":
		m.host = v.String()
		return "$host", true
	case "Port":
		m.port = number()
		return "$port", true
	case "LogDir", "Dir":
		return "$dir", true
	case "TotalBytes", "UsableBytes":
		return "$size", true
	case "FinalizedFeaturesEpoch":
		return "$any", true
	}
	return "", false
}

// pid masks a producer id that a broker gave; transcripts choose their own ids from a million upwards.
func (m *masks) pid(id int64) string {
	if id < 0 || id >= 1_000_000 && m.ids["pid "+strconv.FormatInt(id, 10)] == "" {
		return strconv.FormatInt(id, 10)
	}
	return m.name("pid", strconv.FormatInt(id, 10))
}

func (m *masks) uuid(v reflect.Value) string {
	var id [16]byte
	reflect.Copy(reflect.ValueOf(&id).Elem(), v)
	if id[15] < 100 && id == [16]byte{15: id[15]} { // Zero and the reserved small ids are no secret.
		return strconv.Itoa(int(id[15]))
	}
	return m.name("topicid", hex.EncodeToString(id[:]))
}

// text masks ids, the address and the version inside a string.
func (m *masks) text(s string, version int16) string {
	for n, value := range m.values {
		if strings.HasPrefix(n, "member") && generatedID.MatchString(value) {
			s = strings.ReplaceAll(s, value, "$"+n)
		}
		if strings.HasPrefix(n, "topicid") && len(value) == 32 {
			raw, _ := hex.DecodeString(value)
			s = strings.ReplaceAll(s, base64.RawURLEncoding.EncodeToString(raw), "$"+n)
		}
	}
	if m.host != "" && m.port != "" {
		s = strings.ReplaceAll(s, m.host+":"+m.port, "$host:$port")
	}
	if version >= 0 {
		s = replaceWord(s, fmt.Sprintf("-v%d", version), "-v$v")
	}
	s = longNumber.ReplaceAllStringFunc(s, func(digits string) string {
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && (isRecent(n) || n < 0 && isRecent(n+math.MaxInt64)) {
			return "$now"
		}
		return digits
	})
	return longRun.ReplaceAllStringFunc(s, func(run string) string { return fmt.Sprintf("a*%d", len(run)) })
}

// generatedID is a member id that a broker made: of the classic protocol, or of the consumer protocol.
var generatedID = regexp.MustCompile("-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$|^[A-Za-z0-9_-]{22}$")

// longNumber may be a time in milliseconds, or one less the largest number: Kafka's "any time before".
var longNumber = regexp.MustCompile("-?[0-9]{13,19}")

// longRun is what a*N in a request stood for.
var longRun = regexp.MustCompile("a{100,}")

// replaceWord replaces old where no digit follows, so that -v1 is not found in -v10.
func replaceWord(s, old, with string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, old)
		if i < 0 {
			return b.String() + s
		}
		end := i + len(old)
		b.WriteString(s[:i])
		if end < len(s) && s[end] >= '0' && s[end] <= '9' {
			b.WriteString(old)
		} else {
			b.WriteString(with)
		}
		s = s[end:]
	}
}

// drops says whether a keep or drop directive removes this array element.
func (m *masks) drops(v reflect.Value) bool {
	for field, globs := range m.keeps {
		if text, ok := fieldText(v, field); ok && !matchesAny(globs, text) {
			return true
		}
	}
	for field, globs := range m.leaves {
		if text, ok := fieldText(v, field); ok && matchesAny(globs, text) {
			return true
		}
	}
	return false
}

// fieldText returns the text of FIELD or Type.FIELD of a struct, if it has one.
func fieldText(v reflect.Value, field string) (string, bool) {
	typ, name, ok := strings.Cut(field, ".")
	if !ok {
		name = field
	} else if v.Type().Name() != typ {
		return "", false
	}
	f := v.FieldByName(name)
	for f.IsValid() && f.Kind() == reflect.Pointer && !f.IsNil() {
		f = f.Elem()
	}
	if !f.IsValid() || f.Kind() != reflect.String && !f.CanInt() && !f.CanUint() {
		return "", false
	}
	return fmt.Sprint(f.Interface()), true
}

func matchesAny(globs []string, text string) bool {
	for _, g := range globs {
		if ok, err := path.Match(g, text); err == nil && ok || g == `""` && text == "" {
			return true
		}
	}
	return false
}

// isRecent tells a time in milliseconds within two days of now from other numbers.
func isRecent(ms int64) bool {
	d := time.Duration(ms-time.Now().UnixMilli()) * time.Millisecond
	const span = 48 * time.Hour
	return ms > 1_500_000_000_000 && ms < 5_000_000_000_000 && -span < d && d < span
}
