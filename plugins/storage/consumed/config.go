package consumed

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mortisemq/mortise/sdk/plugin"
	"github.com/mortisemq/mortise/sdk/storage"
)

// maxGroups bounds a config.
const maxGroups = 100

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "required": ["groups"],
  "properties": {
    "groups": {
      "description": "consumer groups that must all have committed beyond a segment",
      "type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 100, "uniqueItems": true
    },
    "keep": {
      "description": "what stays in each partition whatever groups have read",
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "ms": {"type": "integer", "minimum": 0, "default": 3600000},
        "bytes": {"type": "integer", "minimum": 0, "default": 0}
      }
    },
    "limit": {
      "description": "what goes although a group has not read it; the topic's retention.ms and retention.bytes unless set, -1: no limit",
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "ms": {"type": "integer", "minimum": -1},
        "bytes": {"type": "integer", "minimum": -1}
      }
    }
  }
}`

type config struct {
	Groups []string `json:"groups"`
	Keep   keep     `json:"keep"`
	Limit  limit    `json:"limit"`
}

// keep is the floor.
type keep struct {
	MS    int64 `json:"ms"`
	Bytes int64 `json:"bytes"`
}

// limit is the ceiling; nil: the topic's.
type limit struct {
	MS    *int64 `json:"ms"`
	Bytes *int64 `json:"bytes"`
}

// parse makes the rule that a config asks for.
func parse(raw json.RawMessage) (*retention, error) {
	c := config{Keep: keep{MS: 3_600_000}}
	if err := plugin.Decode(raw, &c); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	r := &retention{groups: slices.Sorted(slices.Values(c.Groups)), keep: c.Keep, limit: c.Limit}
	if len(slices.Compact(slices.Clone(r.groups))) != len(r.groups) {
		return nil, errors.New("groups: one is named twice")
	}
	return r, nil
}

func (c config) check() error {
	switch {
	case len(c.Groups) == 0 || len(c.Groups) > maxGroups:
		return fmt.Errorf("groups: %d names, want 1 to %d", len(c.Groups), maxGroups)
	case slices.Contains(c.Groups, ""):
		return errors.New("groups: one has no name")
	case c.Keep.MS < 0 || c.Keep.Bytes < 0:
		return fmt.Errorf("keep: ms %d and bytes %d must not be negative", c.Keep.MS, c.Keep.Bytes)
	case isUnlimited(c.Limit.MS) && isUnlimited(c.Limit.Bytes):
		return errors.New("limit: ms and bytes are both -1: a group that stands still would fill the disk")
	}
	if err := checkLimit("ms", c.Limit.MS, c.Keep.MS); err != nil {
		return err
	}
	return checkLimit("bytes", c.Limit.Bytes, c.Keep.Bytes)
}

func isUnlimited(limit *int64) bool { return limit != nil && *limit == storage.Unlimited }

// checkLimit refuses a ceiling below the floor. The topic's own ceiling is not known
// yet; below the floor it does nothing.
func checkLimit(name string, limit *int64, floor int64) error {
	switch {
	case limit == nil || *limit == storage.Unlimited || *limit >= floor:
		return nil
	case *limit < 0:
		return fmt.Errorf("limit.%s %d must be -1 (no limit) or more", name, *limit)
	}
	return fmt.Errorf("limit.%s %d is below keep.%s %d", name, *limit, name, floor)
}
