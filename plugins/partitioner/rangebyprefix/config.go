package rangebyprefix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// maxRules bounds a config.
const maxRules = 10_000

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "required": ["rules"],
  "properties": {
    "rules": {
      "type": "array",
      "minItems": 1,
      "maxItems": 10000,
      "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["partitions"],
        "properties": {
          "prefix": {"description": "how keys of this rule begin", "type": "string", "minLength": 1},
          "from": {"description": "the smallest number of this rule", "type": "integer"},
          "to": {"description": "the largest number of this rule", "type": "integer"},
          "partitions": {"$ref": "#/$defs/partitions"}
        }
      }
    },
    "otherwise": {"$ref": "#/$defs/partitions"}
  },
  "$defs": {
    "partitions": {
      "description": "one partition, or the first and the last as \"0-3\"",
      "oneOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": "^[0-9]+(-[0-9]+)?$"}
      ]
    }
  }
}`

type config struct {
	Rules     []ruleConfig `json:"rules"`
	Otherwise *span        `json:"otherwise"`
}

type ruleConfig struct {
	Prefix     string `json:"prefix"`
	From       *int64 `json:"from"`
	To         *int64 `json:"to"`
	Partitions *span  `json:"partitions"`
}

// span is a range of partitions, both ends included.
type span struct{ first, last int32 }

// UnmarshalJSON reads 4, "4" or "4-7".
func (s *span) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	first, err := strconv.ParseUint(low, 10, 31)
	if err != nil {
		return fmt.Errorf("partitions %s: want one, or two as \"0-3\"", raw)
	}
	last, err := strconv.ParseUint(high, 10, 31)
	if err != nil || last < first {
		return fmt.Errorf("partitions %s: want one, or two as \"0-3\"", raw)
	}
	s.first, s.last = int32(first), int32(last)
	return nil
}

func (s span) String() string { return fmt.Sprintf("%d-%d", s.first, s.last) }

// parse makes the partitioner that a config asks for.
func parse(raw json.RawMessage) (*ranges, error) {
	var c config
	if err := plugin.Decode(raw, &c); err != nil {
		return nil, err
	}
	if len(c.Rules) == 0 || len(c.Rules) > maxRules {
		return nil, fmt.Errorf("%d rules, want 1 to %d", len(c.Rules), maxRules)
	}
	r := &ranges{otherwise: c.Otherwise}
	for i, rule := range c.Rules {
		if err := r.add(rule); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return r, r.sort()
}

func (r *ranges) add(c ruleConfig) error {
	numeric := c.From != nil && c.To != nil
	switch {
	case c.Partitions == nil:
		return fmt.Errorf("no partitions")
	case c.Prefix != "" && c.From == nil && c.To == nil:
		r.prefixes = append(r.prefixes, prefixRule{prefix: []byte(c.Prefix), to: *c.Partitions})
	case c.Prefix == "" && numeric && *c.From <= *c.To:
		r.numbers = append(r.numbers, numberRule{first: *c.From, last: *c.To, to: *c.Partitions})
	case c.Prefix == "" && numeric:
		return fmt.Errorf("from %d is beyond to %d", *c.From, *c.To)
	default:
		return fmt.Errorf("want either prefix, or from and to")
	}
	return nil
}

// sort puts rules in the order in which they are searched, and refuses two rules for
// one key.
func (r *ranges) sort() error {
	slices.SortFunc(r.numbers, func(a, b numberRule) int { return cmp.Compare(a.first, b.first) })
	for i := range r.numbers[:max(0, len(r.numbers)-1)] {
		if a, b := r.numbers[i], r.numbers[i+1]; a.last >= b.first {
			return fmt.Errorf("the numbers %d to %d and %d to %d overlap", a.first, a.last, b.first, b.last)
		}
	}
	slices.SortFunc(r.prefixes, func(a, b prefixRule) int { return bytes.Compare(a.prefix, b.prefix) })
	for i := range r.prefixes {
		at := i - 1
		for at >= 0 && !bytes.HasPrefix(r.prefixes[i].prefix, r.prefixes[at].prefix) {
			at = r.prefixes[at].shorter
		}
		if at >= 0 && len(r.prefixes[at].prefix) == len(r.prefixes[i].prefix) {
			return fmt.Errorf("two rules for the prefix %q", r.prefixes[i].prefix)
		}
		r.prefixes[i].shorter = at
	}
	return nil
}
