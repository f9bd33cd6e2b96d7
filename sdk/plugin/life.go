package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxMetricsBytes bounds what an instance's Metrics may be.
const MaxMetricsBytes = 1 << 20

// Metered is an instance that has metrics of its own.
type Metered interface {
	// Metrics are in Prometheus' text format, at most MaxMetricsBytes.
	Metrics(ctx context.Context) ([]byte, error)
}

// MetricsOf are the instance's own metrics; ErrUnsupported if it has none.
func MetricsOf(ctx context.Context, instance any) ([]byte, error) {
	m, ok := instance.(Metered)
	if !ok {
		return nil, fmt.Errorf("metrics: %w", ErrUnsupported)
	}
	text, err := m.Metrics(ctx)
	if err == nil && len(text) > MaxMetricsBytes {
		return nil, fmt.Errorf("%d bytes of metrics: %w", len(text), ErrTooLarge)
	}
	return text, err
}

// Find is the plugin of that kind and name.
func Find(plugins []Plugin, kind Kind, name string) (Plugin, error) {
	for _, p := range plugins {
		if p.Kind == kind && p.Name == name {
			return p, nil
		}
	}
	return Plugin{}, fmt.Errorf("no plugin %s %s here: %w", kind, name, ErrUnsupported)
}

// Make makes an instance. An error is an ErrConfig unless it is one of the errors of
// calls. A config without JSON is {}.
func (p Plugin) Make(ctx context.Context, c Config) (any, error) {
	if len(bytes.TrimSpace(c.JSON)) == 0 {
		c.JSON = json.RawMessage("{}")
	}
	instance, err := p.New(ctx, c)
	if err != nil {
		return nil, refused(err)
	}
	if instance == nil {
		return nil, fmt.Errorf("%s %s made no instance: %w", p.Kind, p.Name, ErrFailed)
	}
	return instance, nil
}

// Try validates a config: by Validate, else by making an instance and closing it.
func (p Plugin) Try(ctx context.Context, config json.RawMessage) error {
	if p.Validate != nil {
		if len(bytes.TrimSpace(config)) == 0 {
			config = json.RawMessage("{}")
		}
		return refused(p.Validate(config))
	}
	instance, err := p.Make(ctx, Config{JSON: config, BrokerID: -1})
	if err != nil {
		return err
	}
	if c, ok := instance.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// refused makes an error about a config an ErrConfig.
func refused(err error) error {
	for _, known := range []error{nil, ErrConfig, ErrUnavailable, ErrUnsupported, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, known) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrConfig, err)
}
