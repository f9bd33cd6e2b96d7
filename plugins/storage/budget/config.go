package budget

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// Bounds of a config.
const (
	maxWeights = 10_000
	maxWeight  = 1e6
	minWeight  = 1e-6
)

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "required": ["bytes"],
  "properties": {
    "bytes": {"description": "what the logs that a broker leads may have together", "type": "integer", "minimum": 1},
    "weights": {
      "description": "by topic, or by prefix with a star at the end; 1 unless set",
      "type": "object", "maxProperties": 10000,
      "additionalProperties": {"type": "number", "minimum": 0.000001, "maximum": 1000000}
    },
    "keep": {
      "description": "what stays in each partition whatever the budget says",
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "ms": {"type": "integer", "minimum": 0, "default": 3600000},
        "bytes": {"type": "integer", "minimum": 0, "default": 0}
      }
    }
  }
}`

type config struct {
	Bytes   int64              `json:"bytes"`
	Weights map[string]float64 `json:"weights"`
	Keep    struct {
		MS    int64 `json:"ms"`
		Bytes int64 `json:"bytes"`
	} `json:"keep"`
}

// parse makes the rule that a config asks for.
func parse(raw json.RawMessage) (*retention, error) {
	var c config
	c.Keep.MS = 3_600_000
	if err := plugin.Decode(raw, &c); err != nil {
		return nil, err
	}
	switch {
	case c.Bytes < 1:
		return nil, fmt.Errorf("bytes is %d, want at least 1", c.Bytes)
	case len(c.Weights) > maxWeights:
		return nil, fmt.Errorf("%d weights, want at most %d", len(c.Weights), maxWeights)
	case c.Keep.MS < 0 || c.Keep.Bytes < 0:
		return nil, fmt.Errorf("keep: ms %d and bytes %d must not be negative", c.Keep.MS, c.Keep.Bytes)
	}
	for name, w := range c.Weights {
		if w < minWeight || w > maxWeight {
			return nil, fmt.Errorf("weight %g of %q, want %g to %g", w, name, minWeight, maxWeight)
		}
		if strings.Contains(strings.TrimSuffix(name, "*"), "*") || name == "" {
			return nil, fmt.Errorf("weight of %q: a star stands at the end of a name", name)
		}
	}
	return &retention{config: c}, nil
}

// weight is that of the topic's name, else of its longest prefix.
func (c config) weight(topic string) float64 {
	if w, ok := c.Weights[topic]; ok {
		return w
	}
	for n := len(topic); n >= 0; n-- {
		if w, ok := c.Weights[topic[:n]+"*"]; ok {
			return w
		}
	}
	return 1
}
