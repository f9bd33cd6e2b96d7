package pluginhost

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/mortisemq/mortise/sdk/plugin"
)

// TestLinesKeepTheirLevel puts a plugin's lines into the broker's log with the level
// and the fields that the plugin gave them.
func TestLinesKeepTheirLevel(t *testing.T) {
	var log bytes.Buffer
	o := Options{Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	inWorld(t, o, func(t *testing.T, w *world) {
		w.binary("/p", plugin.Partitioner, "1.0.0")
		w.must(spec(plugin.Partitioner, "/p"))
		write := w.process(0).command.Stderr
		log.Reset()
		write([]byte(`{"level":"DEBUG","msg":"not shown"}`))
		write([]byte("not shown either"))
		write([]byte(`{"level":"ERROR","msg":"it broke","file":"x"}`))
		var line struct {
			Level, Plugin, Line string
			Fields              map[string]string
		}
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, log.String())
		}
		if line.Level != "ERROR" || line.Plugin != "p" || line.Line != "it broke" || line.Fields["file"] != "x" {
			t.Errorf("logged %s", log.String())
		}
	})
}
