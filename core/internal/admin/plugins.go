package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/mortisemq/mortise/core/pluginhost"
	"github.com/mortisemq/mortise/sdk/plugin"
)

// Plugins shows and changes the plugins of the broker.
type Plugins interface {
	List() PluginList
	// Logs are the last lines that a plugin wrote; ErrNotFound.
	Logs(name string) ([]pluginhost.Line, error)
	// Metrics are those that a plugin tells of itself: pluginhost.Host.Metrics.
	Metrics(ctx context.Context, name string) ([]byte, error)
	// Change makes a change and waits, for a bounded time, for what comes of it here.
	// An error says that nothing was changed: ErrNotFound, ErrConflict, ErrInvalid,
	// ErrUndecided.
	Change(ctx context.Context, name string, action PluginAction, ask PluginAsk) (PluginOutcome, error)
}

// What a change may fail with, for errors.Is.
var (
	// ErrNotFound says that there is no such plugin.
	ErrNotFound = errors.New("no such plugin")
	// ErrConflict says that the entry is not what the caller saw, or not one that can
	// be changed like this.
	ErrConflict = errors.New("entry can't be changed")
	// ErrInvalid says that what was asked for can't be.
	ErrInvalid = errors.New("change is refused")
	// ErrUndecided says that the cluster decided nothing; asking again may help.
	ErrUndecided = errors.New("cluster did not decide")
)

// PluginAction is what shall be done to an entry.
type PluginAction string

// The actions. All but Restart change the catalogue of the cluster.
const (
	PluginInstall  PluginAction = "install"
	PluginUpgrade  PluginAction = "upgrade"
	PluginEnable   PluginAction = "enable"
	PluginDisable  PluginAction = "disable"
	PluginRollback PluginAction = "rollback"
	PluginRestart  PluginAction = "restart" // on this broker only
	PluginRemove   PluginAction = "remove"
)

// PluginActions are all of them.
func PluginActions() []PluginAction {
	return []PluginAction{PluginInstall, PluginUpgrade, PluginEnable, PluginDisable, PluginRollback, PluginRestart, PluginRemove}
}

// PluginAsk is the body of a change.
type PluginAsk struct {
	// Changed guards against changes in between: that of the Plugin which the caller
	// saw, 0 if it was not the cluster's. Absent: the entry as it is now.
	Changed *uint64 `json:"changed,omitempty"`
	// Entry has the fields of an entry: all of them to install, those that change to
	// upgrade. A field that is null gets its default.
	Entry json.RawMessage `json:"entry,omitempty"`
	// Override puts an entry of the cluster over one of a broker's settings.
	Override bool `json:"override,omitempty"`
	// DryRun checks and changes nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// PluginOutcome is the answer to a change.
type PluginOutcome struct {
	DryRun bool `json:"dry_run,omitempty"`
	// Found is what the entry's plugin says of itself, if it was asked.
	Found *plugin.Description `json:"found,omitempty"`
	// Plugin is the entry afterwards; nil: it is gone.
	Plugin *Plugin `json:"plugin,omitempty"`
	// Problem says why the plugin does not serve as wanted although the entry was
	// changed; empty: it does, or shall not.
	Problem string `json:"problem,omitempty"`
}

// PluginList is the answer of /v1/plugins.
type PluginList struct {
	ClusterID string `json:"cluster_id"`
	Broker    int32  `json:"broker"`
	Platform  string `json:"platform"` // whose digests count here: linux/amd64
	// Applied is the last change of the cluster's catalogue that this broker has carried
	// out: an entry with a greater Changed is on its way.
	Applied uint64 `json:"applied"`
	// TokenFile has the token that changes need, on the broker's disk.
	TokenFile string               `json:"token_file,omitempty"`
	Plugins   []Plugin             `json:"plugins"`
	Builtins  []plugin.Description `json:"builtins"`
}

// Where an entry comes from.
const (
	FromCluster  = "cluster"  // its catalogue: the same on every broker
	FromSettings = "settings" // of this broker
	FromBuiltin  = "builtin"  // a compiled-in plugin under its own name
)

// Plugin is one entry of the catalogue and what became of it on this broker.
type Plugin struct {
	pluginhost.Status
	From string `json:"from"`
	// Covers is where another entry of this name comes from, which counts again when
	// this one is removed; empty: there is none.
	Covers  string   `json:"covers,omitempty"`
	Changed uint64   `json:"changed"` // guards a change; 0: not the cluster's
	UsedBy  []string `json:"used_by"` // listeners, the chain of authorizers, topics
	// Entry is as wanted; the values of config, env and args are masked.
	Entry *pluginhost.Spec `json:"entry"`
}

// Serves says whether somebody answers calls.
func (p *Plugin) Serves() bool { return p.Generation != 0 }

// list answers /v1/plugins.
func (s *Server) pluginList(w http.ResponseWriter, _ *http.Request) {
	if p := s.plugins(w); p != nil {
		s.reply(w, http.StatusOK, s.listed(p))
	}
}

// listed is the list with what only the listener knows.
func (s *Server) listed(p Plugins) PluginList {
	list := p.List()
	list.TokenFile = s.options.TokenFile
	for i := range list.Plugins {
		list.Plugins[i].Entry = masking(list.Plugins[i].Entry)
	}
	return list
}

// plugins are those of the broker; nil: it is answered that there are none yet.
func (s *Server) plugins(w http.ResponseWriter) Plugins {
	if s.options.Plugins != nil {
		if p := s.options.Plugins(); p != nil {
			return p
		}
	}
	s.fail(w, http.StatusServiceUnavailable, "plugins do not run yet; /readyz tells the progress")
	return nil
}

// pluginOne answers /v1/plugins/NAME.
func (s *Server) pluginOne(w http.ResponseWriter, r *http.Request) {
	p := s.plugins(w)
	if p == nil {
		return
	}
	list := s.listed(p)
	at := slices.IndexFunc(list.Plugins, func(p Plugin) bool { return p.Name == r.PathValue("name") })
	if at < 0 {
		s.fail(w, http.StatusNotFound, "no plugin entry "+quotable(r.PathValue("name"))+" on this broker")
		return
	}
	s.reply(w, http.StatusOK, list.Plugins[at])
}

// pluginLogs answers /v1/plugins/NAME/logs.
func (s *Server) pluginLogs(w http.ResponseWriter, r *http.Request) {
	p := s.plugins(w)
	if p == nil {
		return
	}
	lines, err := p.Logs(r.PathValue("name"))
	if err != nil {
		s.fail(w, http.StatusNotFound, "no plugin "+quotable(r.PathValue("name"))+" runs on this broker")
		return
	}
	s.reply(w, http.StatusOK, map[string][]pluginhost.Line{"lines": append([]pluginhost.Line{}, lines...)})
}

// pluginMetrics answers /v1/plugins/NAME/metrics. They are not part of /metrics: a plugin
// may take its time, and say what others say.
func (s *Server) pluginMetrics(w http.ResponseWriter, r *http.Request) {
	p := s.plugins(w)
	if p == nil {
		return
	}
	name := r.PathValue("name")
	text, err := p.Metrics(r.Context(), name)
	switch {
	case errors.Is(err, pluginhost.ErrNotFound):
		s.fail(w, http.StatusNotFound, "no plugin "+quotable(name)+" runs on this broker")
	case errors.Is(err, plugin.ErrUnsupported):
		s.fail(w, http.StatusNotFound, "plugin "+quotable(name)+" has no metrics of its own")
	case err != nil:
		s.fail(w, http.StatusServiceUnavailable, err.Error())
	default:
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Write(text) //nolint:errcheck // a peer that went away is its own business
	}
}

// pluginChange answers POST /v1/plugins/NAME/ACTION.
func (s *Server) pluginChange(w http.ResponseWriter, r *http.Request) {
	if status, why := s.refused(r); status != 0 {
		s.fail(w, status, why)
		return
	}
	action := PluginAction(r.PathValue("action"))
	if !slices.Contains(PluginActions(), action) {
		s.fail(w, http.StatusNotFound, "no action "+quotable(string(action))+" on plugins")
		return
	}
	ask, err := readAsk[PluginAsk](r.Body)
	if err != nil {
		s.fail(w, http.StatusBadRequest, "the body is wrong: "+err.Error())
		return
	}
	p := s.plugins(w)
	if p == nil {
		return
	}
	select {
	case s.changing <- struct{}{}:
		defer func() { <-s.changing }()
	default:
		s.fail(w, http.StatusServiceUnavailable, "another change of plugins runs; try again")
		return
	}
	name := r.PathValue("name")
	outcome, err := p.Change(r.Context(), name, action, ask)
	if err != nil {
		s.options.Log.Warn("admin: a change of a plugin was refused", "plugin", name, "action", action, "from", r.RemoteAddr, "error", err)
		s.fail(w, statusOf(err), err.Error())
		return
	}
	s.options.Log.Info("admin: plugin changed", "plugin", name, "action", action, "from", r.RemoteAddr, "dry_run", ask.DryRun, "problem", outcome.Problem)
	if outcome.Plugin != nil {
		outcome.Plugin.Entry = masking(outcome.Plugin.Entry)
	}
	s.reply(w, http.StatusOK, outcome)
}

// readAsk reads the body of a change; one that is empty asks for nothing particular.
func readAsk[T any](body io.Reader) (ask T, err error) {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(&ask); err != nil && !errors.Is(err, io.EOF) {
		return ask, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ask, errors.New("something follows the JSON object")
	}
	return ask, nil
}

// statusOf is the status that stands for an error of a change.
func statusOf(err error) int {
	switch {
	case errors.Is(err, ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, ErrConflict):
		return http.StatusConflict
	case errors.Is(err, ErrInvalid):
		return http.StatusBadRequest
	}
	return http.StatusServiceUnavailable
}

// masking is an entry as it may be shown: what plugins are given is theirs, and often
// a secret.
func masking(s *pluginhost.Spec) *pluginhost.Spec {
	if s == nil {
		return nil
	}
	safe := *s
	if len(s.Config) > 0 {
		safe.Config = json.RawMessage(`"` + masked + `"`)
	}
	if len(s.Args) > 0 {
		safe.Args = []string{masked}
	}
	if len(s.Env) > 0 {
		safe.Env = map[string]string{}
		for name := range s.Env {
			safe.Env[name] = masked
		}
	}
	return &safe
}

// fail answers with what is wrong.
func (s *Server) fail(w http.ResponseWriter, status int, why string) {
	s.reply(w, status, map[string]string{"error": why})
}
