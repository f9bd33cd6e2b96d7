package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/mortisemq/mortise/sdk/host"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// answersCase is the case without which most others mean nothing.
const answersCase = "base/answers"

// unknownKey is a key that no plugin's config has.
const unknownKey = "no-such-key-of-sdktest"

// maxDescription bounds what a plugin may say about itself, as JSON.
const maxDescription = 64 << 10

func baseChecks() []check {
	return []check{
		{name: "base/describe", says: "it describes itself, always the same, in at most 64 KiB", run: checkDescribe},
		{name: "base/config", says: "Validate and Configure take its config", run: checkConfig},
		{name: "base/unknown-key", says: "Validate refuses a key that the config does not have", run: checkUnknownKey},
		{name: "base/no-object", says: "Validate refuses a config that is no JSON object", run: checkNoObject},
		{name: answersCase, says: "it answers an ordinary question", run: checkAnswers},
		{name: "base/twice", says: "two instances with one config answer the same", run: checkTwice},
		{name: "base/isolated", says: "an instance serves on when another ends", run: checkIsolated},
		{name: "base/drain", says: "Drain ends an instance, twice is no error, and nothing asks it then", run: checkDrain},
		{name: "base/leaks", says: "instances that ended leave nothing open", run: checkLeaks},
		{name: "base/metrics", says: "metrics, if it has any, are text of at most 1 MiB", run: checkMetrics},
	}
}

// needsAnswers says whether a case asks the plugin questions of its kind.
func needsAnswers(c check) bool {
	section, name, _ := strings.Cut(c.name, "/")
	return c.kind != "" || section == "robust" || section == "base" && (name == "twice" || name == "isolated" || name == "drain")
}

func checkDescribe(ctx context.Context, b *bench) error {
	target, err := b.open(ctx)
	if err != nil {
		return err
	}
	all, err := target.Describe(ctx)
	if err != nil {
		return err
	}
	for range 3 {
		again, err := target.Describe(ctx)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(all, again) {
			return fmt.Errorf("it said %+v, then %+v", all, again)
		}
	}
	first := b.described
	other, d, err := b.fresh(ctx)
	if err != nil {
		return fmt.Errorf("a second start: %w", err)
	}
	defer b.stop(other)
	if !reflect.DeepEqual(d, first) {
		return fmt.Errorf("it said %+v, and after another start %+v", first, d)
	}
	return checkDescription(all, d)
}

// checkDescription looks at what is said: nobody did when the plugin is compiled in.
func checkDescription(all []plugin.Description, d plugin.Description) error {
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("the schema is no JSON: %w", err)
	}
	long := false
	for _, f := range d.Features {
		long = long || f == "" || len(f) > plugin.MaxFeatureBytes
	}
	switch {
	case len(text) > maxDescription:
		return fmt.Errorf("%d bytes of descriptions", len(text))
	case !plugin.ValidName(d.Name):
		return fmt.Errorf("name %q: use lower-case letters, digits and dashes", d.Name)
	case d.Version == "" || len(d.Version) > plugin.MaxVersionBytes || strings.HasPrefix(d.Version, "v"):
		return fmt.Errorf("version %q: use a semantic version without a v", d.Version)
	case len(d.Summary) > plugin.MaxSummaryBytes || !utf8.ValidString(d.Summary) || strings.ContainsAny(d.Summary, "\n\r\x00"):
		return fmt.Errorf("summary %q: use one line of at most %d bytes", d.Summary, plugin.MaxSummaryBytes)
	case len(d.Features) > plugin.MaxFeatures || long:
		return fmt.Errorf("features %q: too many, or one that is empty or too long", d.Features)
	case len(d.Schema) > 0 && !strings.HasPrefix(string(bytes.TrimSpace(d.Schema)), "{"):
		return fmt.Errorf("the schema is no JSON object: %s", d.Schema)
	}
	return nil
}

func checkConfig(ctx context.Context, b *bench) error {
	target, err := b.open(ctx)
	if err != nil {
		return err
	}
	if err := b.validate(ctx, target, b.subject.Config); err != nil {
		return fmt.Errorf("validate: %w", err)
	}
	in, err := b.instance(ctx, target)
	if err != nil {
		return err
	}
	if in.Description().Name != b.described.Name {
		return fmt.Errorf("an instance of %s instead of %s", in.Description().Name, b.described.Name)
	}
	return b.drain(in)
}

func (b *bench) validate(ctx context.Context, target host.Target, config json.RawMessage) error {
	return b.guarded(ctx, func() error {
		return target.Validate(ctx, b.subject.Kind, b.described.Name, bytes.Clone(config))
	})
}

func checkUnknownKey(ctx context.Context, b *bench) error {
	target, err := b.open(ctx)
	if err != nil {
		return err
	}
	keys := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(b.subject.Config)) > 0 {
		if err := json.Unmarshal(b.subject.Config, &keys); err != nil {
			return fmt.Errorf("the config given to the kit: %w", err)
		}
	}
	keys[unknownKey] = json.RawMessage("1")
	config, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	return b.refuses(b.validate(ctx, target, config))
}

// refuses wants an error about a config.
func (b *bench) refuses(err error) error {
	switch {
	case err == nil:
		return errors.New("it took it: use plugin.Decode, which refuses unknown keys, in Validate or New")
	case errors.Is(err, plugin.ErrConfig):
		return nil
	}
	return fmt.Errorf("want a plugin.ErrConfig that names what is wrong, got: %w", err)
}

func checkNoObject(ctx context.Context, b *bench) error {
	target, err := b.open(ctx)
	if err != nil {
		return err
	}
	for _, config := range []string{`[]`, `"text"`, `7`, `{`, `{} {}`, "{\"a\xff\": 1}"} {
		if err := b.refuses(b.validate(ctx, target, json.RawMessage(config))); err != nil {
			return fmt.Errorf("%q: %w", config, err)
		}
	}
	return nil
}

func checkAnswers(ctx context.Context, b *bench) error {
	t, err := b.talk(ctx)
	if err != nil {
		return err
	}
	for n := range 3 {
		if _, err := t.ordinary(ctx, n); err != nil {
			return err
		}
	}
	return t.end()
}

func checkTwice(ctx context.Context, b *bench) error {
	one, err := b.talk(ctx)
	if err != nil {
		return err
	}
	two, err := b.talk(ctx)
	if err != nil {
		return err
	}
	for n := range 20 {
		first, err := one.ordinary(ctx, n)
		if err != nil {
			return err
		}
		second, err := two.ordinary(ctx, n)
		if err != nil {
			return err
		}
		if first != second {
			return fmt.Errorf("question %d: one answers %s, the other %s", n, first, second)
		}
	}
	return errors.Join(one.end(), two.end())
}

func checkIsolated(ctx context.Context, b *bench) error {
	stays, err := b.talk(ctx)
	if err != nil {
		return err
	}
	before, err := stays.ordinary(ctx, 0)
	if err != nil {
		return err
	}
	for range 3 {
		goes, err := b.talk(ctx)
		if err != nil {
			return err
		}
		if err := goes.end(); err != nil {
			return err
		}
		after, err := stays.ordinary(ctx, 0)
		if err != nil {
			return fmt.Errorf("after another instance ended: %w", err)
		}
		if before != after {
			return fmt.Errorf("it answered %s, and after another instance came and went %s", before, after)
		}
	}
	return stays.end()
}

func checkDrain(ctx context.Context, b *bench) error {
	t, err := b.talk(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(t.end(), t.end()); err != nil {
		return err
	}
	if b.subject.Source.way == WayValues {
		return nil // the broker's own handle takes no calls then
	}
	if _, err := t.ordinary(ctx, 0); !errors.Is(err, plugin.ErrDrained) {
		return fmt.Errorf("asked after Drain it says %v, want plugin.ErrDrained", err)
	}
	return nil
}

func checkMetrics(ctx context.Context, b *bench) error {
	t, err := b.talk(ctx)
	if err != nil {
		return err
	}
	var text []byte
	err = b.guarded(ctx, func() (err error) {
		text, err = t.of().Metrics(ctx)
		return err
	})
	switch {
	case errors.Is(err, plugin.ErrUnsupported):
		return errors.Join(skipped("it has none"), t.end())
	case err != nil:
		return err
	case len(text) > plugin.MaxMetricsBytes || !utf8.Valid(text):
		return fmt.Errorf("%d bytes, UTF-8: %v", len(text), utf8.Valid(text))
	case len(text) > 0 && text[len(text)-1] != '\n':
		return errors.New("the last line has no end: Prometheus' format wants one")
	}
	return t.end()
}
