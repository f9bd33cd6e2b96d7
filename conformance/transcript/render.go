package transcript

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// renderer turns decoded answers into text, masking what must differ between brokers.
type renderer struct {
	masks   *masks
	version int16
}

// oneLineMax is the widest struct, in bytes, that is printed on one line.
const oneLineMax = 140

// render returns the lines of a message, without indentation.
func (r *renderer) render(msg any) []string {
	v := reflect.ValueOf(msg)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	lines := r.structLines(v)
	if len(lines) == 0 {
		return []string{"{}"}
	}
	return lines
}

// structLines prints one "Field: value" entry a line; nested values take indented lines below their field.
func (r *renderer) structLines(v reflect.Value) []string {
	def := defaultOf(v.Type())
	var out []string
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		f := v.Field(i)
		if name == "Version" || name == "ThrottleMillis" { // How much a broker throttles is its own affair.
			continue
		}
		if name == "ErrorMessage" && r.masks.anyError {
			continue
		}
		if name == "UnknownTags" {
			if n := f.Addr().MethodByName("Len").Call(nil)[0].Int(); n > 0 {
				out = append(out, fmt.Sprintf("UnknownTags: %d", n))
			}
			continue
		}
		if name != "ErrorCode" && isDefault(f, def.Field(i)) {
			continue
		}
		out = append(out, r.field(v, name, f)...)
	}
	return out
}

func (r *renderer) field(parent reflect.Value, name string, f reflect.Value) []string {
	if s, ok := r.masks.mask(parent.Type().Name(), name, f); ok {
		return []string{name + ": " + s}
	}
	switch f.Kind() {
	case reflect.Pointer:
		if f.IsNil() {
			return []string{name + ": null"}
		}
		return r.field(parent, name, f.Elem())
	case reflect.Struct:
		return nest(name+":", r.structLines(f))
	case reflect.Slice:
		return r.slice(name, f)
	}
	return []string{name + ": " + r.scalar(name, f)}
}

func (r *renderer) slice(name string, f reflect.Value) []string {
	if f.IsNil() {
		return []string{name + ": null"}
	}
	if f.Type().Elem().Kind() == reflect.Uint8 {
		if name == "RecordBatches" || name == "Records" {
			return nest(name+":", r.batches(f.Bytes()))
		}
		return []string{fmt.Sprintf("%s: 0x%x", name, f.Bytes())}
	}
	if f.Len() == 0 {
		return []string{name + ": []"}
	}
	if f.Type().Elem().Kind() != reflect.Struct {
		items := make([]string, f.Len())
		for i := range items {
			items[i] = r.scalar(name, f.Index(i))
		}
		if r.masks.sorted[name] {
			slices.Sort(items)
		}
		return []string{name + ": [" + strings.Join(items, ", ") + "]"}
	}
	var items [][]string
	for i := range f.Len() {
		if !r.masks.drops(f.Index(i)) {
			items = append(items, item(r.structLines(f.Index(i))))
		}
	}
	if len(items) == 0 {
		return []string{name + ": []"}
	}
	if r.masks.sorted[name] {
		slices.SortFunc(items, slices.Compare)
	}
	return append([]string{name + ":"}, slices.Concat(items...)...)
}

// item prints a struct as a list element: on one line when it is flat and short.
func item(lines []string) []string {
	flat := true
	width := 0
	for _, l := range lines {
		width += len(l) + 2
		flat = flat && !strings.HasPrefix(l, " ") && !strings.HasSuffix(l, ":")
	}
	if flat && width <= oneLineMax {
		return []string{"  - {" + strings.Join(lines, ", ") + "}"}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		if i == 0 {
			out[i] = "  - " + l
		} else {
			out[i] = "    " + l
		}
	}
	return out
}

func nest(head string, lines []string) []string {
	out := []string{head}
	for _, l := range lines {
		out = append(out, "  "+l)
	}
	return out
}

func (r *renderer) scalar(name string, f reflect.Value) string {
	switch f.Kind() {
	case reflect.String:
		return r.text(f.String())
	case reflect.Bool:
		return strconv.FormatBool(f.Bool())
	case reflect.Array: // A UUID.
		return r.masks.uuid(f)
	case reflect.Int64:
		if isRecent(f.Int()) {
			return "$now"
		}
	case reflect.Float64:
		return strconv.FormatFloat(f.Float(), 'g', -1, 64)
	case reflect.Pointer:
		if f.IsNil() {
			return "null"
		}
		return r.scalar(name, f.Elem())
	}
	if strings.HasSuffix(name, "ErrorCode") {
		return errorName(int16(f.Int()))
	}
	if f.CanInt() {
		return strconv.FormatInt(f.Int(), 10)
	}
	return fmt.Sprint(f.Interface())
}

func errorName(code int16) string {
	if code == 0 {
		return "NONE"
	}
	if err := kerr.TypedErrorForCode(code); err != nil {
		return err.Message
	}
	return strconv.Itoa(int(code))
}

var plainText = regexp.MustCompile(`^[A-Za-z_./$][-A-Za-z0-9_./$:]*$`)

// text prints a string bare where YAML would read it back as the same string.
func (r *renderer) text(s string) string {
	s = r.masks.text(s, r.version)
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return strconv.Quote(s)
	}
	if plainText.MatchString(s) && !strings.HasSuffix(s, ":") {
		return s
	}
	return strconv.Quote(s)
}

// defaultOf is a value of the struct type t with the protocol's defaults.
func defaultOf(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	if m := p.MethodByName("Default"); m.IsValid() {
		m.Call(nil)
	}
	return p.Elem()
}

func isDefault(v, def reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.IsNil() && def.IsNil()
	}
	return reflect.DeepEqual(v.Interface(), def.Interface())
}
