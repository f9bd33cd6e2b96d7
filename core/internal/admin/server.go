package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/mortisemq/mortise/core/metrics"
)

// Limits of the listener.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = time.Minute // a profile takes half of it
	idleTimeout    = time.Minute
	headerBytesMax = 16 << 10
	bodyBytesMax   = 2 << 20 // an entry of a plugin with its config fits
	scrapesMax     = 4       // /metrics requests at once; more get 503
	changesMax     = 2       // of plugins at once, each of which may start a process; more get 503
)

// Options are the facts that are shown. Functions are called by several requests
// at once. All are needed unless they say otherwise.
type Options struct {
	Log     *slog.Logger
	Metrics *metrics.Registry
	Version Version
	Ready   func() Readiness
	// Config are the values in effect; nil: none are shown.
	Config func() []Value
	// Partitions calls yield for each partition of this broker; nil: no detail.
	Partitions func(yield func(Partition) bool)
	// Topic tells about a topic's partitions on this broker; false: it has none. Nil:
	// nothing is told.
	Topic func(name string) (Topic, bool)
	// Health tells what is wrong with this broker; nil: nothing is told.
	Health func() Health
	// Cluster tells about the cluster; nil: nothing is told.
	Cluster func() Cluster
	// Drain has a node give away what it leads, or with undo takes that back; ErrNoNode.
	// Nil: the node is alone.
	Drain func(ctx context.Context, node int32, undo bool) (Drained, error)
	// Lags are how far groups are behind; nil: not shown.
	Lags func() Lags
	// Clients are the metrics that clients pushed, by names that no metric of the
	// broker has; nil: none are shown.
	Clients func() []metrics.Family
	// Plugins shows and changes plugins; nil, or while it gives nil: there are none.
	Plugins func() Plugins
	// Token is what a change needs; empty: nobody may change anything. TokenFile is
	// where people find it.
	Token, TokenFile string
	// Address is where the listener binds, as people wrote it: its host is one that
	// changes may be asked for by.
	Address string
	// Profiling serves /debug/pprof/.
	Profiling bool
}

// Version is the answer of /v1/version.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	Kafka   string `json:"kafka"` // whose protocol this is
}

// Readiness is the answer of /readyz.
type Readiness struct {
	Ready    bool     `json:"ready"`
	State    string   `json:"state"` // starting, recovering, running, stopping
	Recovery Recovery `json:"recovery"`
}

// Recovery is how far the logs have been opened.
type Recovery struct {
	LogsTotal  int64 `json:"logs_total"`
	LogsDone   int64 `json:"logs_done"`
	BytesTotal int64 `json:"bytes_total"`
	BytesDone  int64 `json:"bytes_done"`
}

// Server is the listener. It is safe for concurrent use.
type Server struct {
	options  Options
	http     *http.Server
	changing chan struct{} // tokens of changes that run
}

// New makes a server that does not listen yet.
func New(o Options) *Server {
	s := &Server{options: o, changing: make(chan struct{}, changesMax)}
	s.http = &http.Server{
		Handler:           http.MaxBytesHandler(s.routes(), bodyBytesMax),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytesMax,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve answers on l until Shutdown. It returns nil after Shutdown.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown lets running answers out until ctx ends, then closes everything.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

// routes is the table of the package comment.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.metrics())
	mux.HandleFunc("GET /v1/version", s.version)
	mux.HandleFunc("GET /v1/config", s.config)
	mux.HandleFunc("GET /v1/health", s.healthReport)
	mux.HandleFunc("GET /v1/topics/{name}", s.topic)
	mux.HandleFunc("GET /v1/cluster", s.cluster)
	mux.HandleFunc("POST /v1/cluster/drain", s.drain(false))
	mux.HandleFunc("POST /v1/cluster/undrain", s.drain(true))
	mux.HandleFunc("GET /v1/plugins", s.pluginList)
	mux.HandleFunc("GET /v1/plugins/{name}", s.pluginOne)
	mux.HandleFunc("GET /v1/plugins/{name}/logs", s.pluginLogs)
	mux.HandleFunc("GET /v1/plugins/{name}/metrics", s.pluginMetrics)
	mux.HandleFunc("POST /v1/plugins/{name}/{action}", s.pluginChange)
	if s.options.Profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// index is for a person who opens the address in a browser.
const index = `Mortise, the listener for people, probes and monitors.

/healthz      200 while the process is alive
/readyz       200 once logs are recovered and clients are served; with the progress
/metrics      Prometheus text; ?partitions=true adds a few series for each partition
/v1/version   the build
/v1/config    every setting in force and where it came from
/v1/health    what is wrong with this broker and what to do; 200 if nothing is
/v1/cluster   the nodes of the cluster, as this one knows them
/v1/plugins   the plugins, how they are, and what is compiled in

And /v1/topics/NAME: the segments and the compaction of a topic's partitions here.
`

func (s *Server) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, index) //nolint:errcheck // a peer that went away is its own business
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, http.StatusOK, map[string]string{"status": "alive"})
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	r := s.options.Ready()
	status := http.StatusServiceUnavailable
	if r.Ready {
		status = http.StatusOK
	}
	s.reply(w, status, r)
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, http.StatusOK, s.options.Version)
}

// reply writes JSON. A peer that went away is its own business.
func (s *Server) reply(w http.ResponseWriter, status int, body any) {
	b, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		s.options.Log.Error("admin: answer could not be encoded", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(b, '\n')) //nolint:errcheck // see above
}
