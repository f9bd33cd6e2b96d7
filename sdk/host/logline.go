package host

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
)

// Bounds of what a log line of a plugin is taken apart into.
const (
	maxAttributes     = 32
	maxAttributeBytes = 1 << 10
)

// LogLine is one line of a plugin's output, understood as far as it can be.
type LogLine struct {
	Level   slog.Level
	Message string
	Attrs   []slog.Attr // values are text
}

// ParseLine understands the lines of package sdk (log/slog's JSON) and of hclog's JSON.
// Any other line is a message of level info as it stands. It trusts nothing: a field
// of another type than expected is an attribute, and there are at most 32 of 1 KiB.
func ParseLine(line []byte) LogLine {
	var fields map[string]any
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &fields) != nil {
		return LogLine{Level: slog.LevelInfo, Message: string(line)}
	}
	var l LogLine
	var ok bool
	if l.Message, ok = takeText(fields, "msg", "@message"); !ok {
		return LogLine{Level: slog.LevelInfo, Message: string(line)}
	}
	l.Level, l.Message = slog.LevelInfo, harmless(l.Message, MaxLineBytes)
	if level, ok := takeText(fields, "level", "@level"); ok {
		l.Level = levelOf(level)
	}
	takeText(fields, "time", "@timestamp") // the broker's own clock counts
	for name, value := range fields {
		l.Attrs = append(l.Attrs, slog.String(harmless(name, maxAttributeBytes), harmless(textOf(value), maxAttributeBytes)))
	}
	slices.SortFunc(l.Attrs, func(a, b slog.Attr) int { return strings.Compare(a.Key, b.Key) })
	l.Attrs = l.Attrs[:min(len(l.Attrs), maxAttributes)]
	return l
}

// takeText takes the first of the fields that is text.
func takeText(fields map[string]any, names ...string) (string, bool) {
	for _, name := range names {
		if text, ok := fields[name].(string); ok {
			delete(fields, name)
			return text, true
		}
	}
	return "", false
}

// levelOf reads a level of slog or hclog; one that is not known is info.
func levelOf(text string) slog.Level {
	var level slog.Level
	switch text = strings.ToUpper(text); {
	case text == "TRACE":
		return slog.LevelDebug - 4
	case level.UnmarshalText([]byte(text)) == nil:
		return level
	}
	return slog.LevelInfo
}

func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// harmless is text as clean makes it, cut after limit bytes: JSON can spell what
// cleaning the line removed.
func harmless(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	return string(clean([]byte(text)))
}
