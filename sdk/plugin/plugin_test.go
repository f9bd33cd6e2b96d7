package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// closing is an instance that tells whether it was closed.
type closing struct{ closed *bool }

func (c closing) Close() error { *c.closed = true; return nil }

var _ io.Closer = closing{}

func good() Plugin {
	return Plugin{
		Kind: Partitioner, Name: "p-1", Version: "1.0.0", Schema: json.RawMessage(NoConfigSchema),
		New: func(context.Context, Config) (any, error) { return 1, nil },
	}
}

func TestCheck(t *testing.T) {
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Plugin){
		"no kind":       func(p *Plugin) { p.Kind = "" },
		"another kind":  func(p *Plugin) { p.Kind = "quota" },
		"no name":       func(p *Plugin) { p.Name = "" },
		"capitals":      func(p *Plugin) { p.Name = "P" },
		"long name":     func(p *Plugin) { p.Name = strings.Repeat("p", 65) },
		"no version":    func(p *Plugin) { p.Version = "" },
		"long version":  func(p *Plugin) { p.Version = strings.Repeat("1", MaxVersionBytes+1) },
		"no New":        func(p *Plugin) { p.New = nil },
		"long summary":  func(p *Plugin) { p.Summary = strings.Repeat("s", MaxSummaryBytes+1) },
		"two lines":     func(p *Plugin) { p.Summary = "a\nb" },
		"many features": func(p *Plugin) { p.Features = make([]string, MaxFeatures+1) },
		"long feature":  func(p *Plugin) { p.Features = []string{strings.Repeat("f", MaxFeatureBytes+1)} },
		"schema":        func(p *Plugin) { p.Schema = json.RawMessage("{") },
	} {
		p := good()
		change(&p)
		if err := p.Check(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestMakeAndTry tells a refused config from what is away, and closes what Try made.
func TestMakeAndTry(t *testing.T) {
	p := good()
	closed := false
	var saw json.RawMessage
	var fails error
	p.New = func(_ context.Context, c Config) (any, error) {
		saw = c.JSON
		return closing{&closed}, fails
	}
	if err := p.Try(t.Context(), nil); err != nil || !closed || string(saw) != "{}" {
		t.Errorf("try: %v, closed %v, config %s; want it closed, and {} for nothing", err, closed, saw)
	}
	fails = errors.New("no such file")
	if err := p.Try(t.Context(), nil); !errors.Is(err, ErrConfig) || !errors.Is(err, fails) {
		t.Errorf("%v, want ErrConfig of %v", err, fails)
	}
	fails = ErrUnavailable
	if _, err := p.Make(t.Context(), Config{}); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrConfig) {
		t.Errorf("%v, want ErrUnavailable alone", err)
	}
	p.New = func(context.Context, Config) (any, error) { return nil, nil }
	if _, err := p.Make(t.Context(), Config{}); !errors.Is(err, ErrFailed) {
		t.Errorf("no instance: %v, want ErrFailed", err)
	}
	p.Validate = func(config json.RawMessage) error { return Decode(config, &struct{}{}) }
	if err := p.Try(t.Context(), json.RawMessage(`{"a":1}`)); !errors.Is(err, ErrConfig) {
		t.Errorf("validate: %v, want ErrConfig", err)
	}
}

func TestFind(t *testing.T) {
	all := []Plugin{good()}
	if p, err := Find(all, Partitioner, "p-1"); err != nil || p.Name != "p-1" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := Find(all, Retention, "p-1"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("another kind: %v, want ErrUnsupported", err)
	}
}

func TestGoneIsUnavailable(t *testing.T) {
	if !errors.Is(ErrGone, ErrUnavailable) || errors.Is(ErrUnavailable, ErrGone) {
		t.Error("whoever asks for ErrUnavailable must get ErrGone too, and not the other way round")
	}
}
