package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Decode puts one JSON object into the struct that v points to. An empty config
// leaves v as it is, so that defaults can be set before. A key that v lacks, a wrong
// type and anything after the object are errors.
func Decode(config json.RawMessage, v any) error {
	if len(bytes.TrimSpace(config)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(config))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("config: something follows the JSON object")
	}
	return nil
}

// NoConfigSchema is the schema of a plugin without settings.
const NoConfigSchema = `{"type":"object","additionalProperties":false}`

// NoConfig is the Validate of a plugin without settings: any key is an error.
func NoConfig(config json.RawMessage) error { return Decode(config, &struct{}{}) }
