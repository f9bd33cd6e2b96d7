package transcript

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.yaml.in/yaml/v3"
)

// keyNamed returns the API key with a name of kmsg's.
func keyNamed(name string) (int16, bool) {
	for k := range int16(kmsg.MaxKey + 1) {
		if kmsg.NameForKey(k) == name {
			return k, true
		}
	}
	return 0, false
}

// request builds the request that a body describes.
func (m *masks) request(name string, version int16, body string) (kmsg.Request, error) {
	key, ok := keyNamed(name)
	if !ok {
		return nil, fmt.Errorf("no request is called %q", name)
	}
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	body = strings.ReplaceAll(body, "$v", strconv.Itoa(int(version)))
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(body), &doc); err != nil {
		return nil, fmt.Errorf("%s v%d: body: %w", name, version, err)
	}
	if len(doc.Content) == 0 {
		return req, nil
	}
	if err := m.fill(reflect.ValueOf(req).Elem(), doc.Content[0]); err != nil {
		return nil, fmt.Errorf("%s v%d: %w", name, version, err)
	}
	return req, nil
}

// fill sets v from a YAML node. The kinds are those that kmsg uses.
func (m *masks) fill(v reflect.Value, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		v.SetZero()
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return m.fill(v.Elem(), n)
	case reflect.Struct:
		return m.fillStruct(v, n)
	case reflect.Slice:
		return m.fillSlice(v, n)
	case reflect.Array:
		id, err := m.parseUUID(n.Value)
		if err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
		reflect.Copy(v, reflect.ValueOf(id))
		return nil
	case reflect.String:
		v.SetString(m.expand(n.Value))
		return nil
	case reflect.Bool:
		return n.Decode(v.Addr().Interface())
	case reflect.Float64:
		return n.Decode(v.Addr().Interface())
	}
	if v.CanUint() {
		return n.Decode(v.Addr().Interface())
	}
	i, err := strconv.ParseInt(m.expand(n.Value), 0, 64)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	if v.OverflowInt(i) {
		return fmt.Errorf("line %d: %d does not fit %s", n.Line, i, v.Type())
	}
	v.SetInt(i)
	return nil
}

func (m *masks) fillStruct(v reflect.Value, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want a mapping for %s", n.Line, v.Type())
	}
	if p := v.Addr().MethodByName("Default"); p.IsValid() {
		version := v.FieldByName("Version")
		var keep int64
		if version.IsValid() {
			keep = version.Int()
		}
		p.Call(nil)
		if version.IsValid() {
			version.SetInt(keep)
		}
	}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i].Value
		f := v.FieldByName(name)
		if !f.IsValid() || name == "Version" {
			return fmt.Errorf("line %d: %s has no field %q", n.Line, v.Type(), name)
		}
		if err := m.fill(f, n.Content[i+1]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (m *masks) fillSlice(v reflect.Value, n *yaml.Node) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		b, err := m.bytes(n)
		if err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
		v.SetBytes(b)
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: want a list of %s", n.Line, v.Type().Elem())
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		if err := m.fill(v.Index(i), c); err != nil {
			return err
		}
	}
	return nil
}

// bytes reads a list of batch descriptions, or hex digits after 0x.
func (m *masks) bytes(n *yaml.Node) ([]byte, error) {
	if n.Kind == yaml.SequenceNode {
		out := []byte{}
		for _, c := range n.Content {
			spec := BatchSpec{masks: m}
			if err := spec.decode(c); err != nil {
				return nil, err
			}
			b, err := spec.Append(nil)
			if err != nil {
				return nil, err
			}
			out = append(out, b...)
		}
		return out, nil
	}
	digits, ok := strings.CutPrefix(n.Value, "0x")
	if !ok {
		return []byte(n.Value), nil
	}
	return hex.DecodeString(digits)
}

// expand replaces a placeholder that is the whole text, or one inside braces.
func (m *masks) expand(s string) string {
	if name, ok := strings.CutPrefix(s, "$"); ok {
		switch name {
		case "host":
			return m.host
		case "port":
			return m.port
		}
		if v, ok := m.values[name]; ok {
			return v
		}
	}
	if n, ok := strings.CutPrefix(s, "a*"); ok { // A run of the letter a: names at their limits.
		if n, err := strconv.Atoi(n); err == nil {
			return strings.Repeat("a", n)
		}
	}
	return s
}

func (m *masks) parseUUID(s string) (id [16]byte, err error) {
	if v, ok := m.values[strings.TrimPrefix(s, "$")]; ok {
		s = v
	}
	if n, err := strconv.Atoi(s); err == nil && n < 256 {
		id[15] = byte(n)
		return id, nil
	}
	var raw []byte
	if len(s) == 32 {
		raw, err = hex.DecodeString(s)
	} else {
		raw, err = base64.RawURLEncoding.DecodeString(s)
	}
	if err != nil || len(raw) != 16 {
		return id, fmt.Errorf("%q is no uuid", s)
	}
	return [16]byte(raw), nil
}
