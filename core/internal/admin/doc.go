// Package admin is the HTTP listener for people, probes and monitors:
//
//	GET /             this list, in words
//	GET /healthz      200 while the process is alive
//	GET /readyz       200 once logs are recovered and clients are served, 503
//	                  before and while stopping; JSON with the progress
//	GET /metrics      Prometheus text; ?partitions=true adds a few series per
//	                  partition, which is why it must be asked for
//	GET /v1/version   build and protocol versions
//	GET /v1/config    every value with its origin; secrets are masked
//	GET /v1/health    what is wrong with this broker and what to do about it: 200 if
//	                  nothing is, else 503
//	GET /v1/topics/NAME
//	                  what the protocol does not tell of a topic's partitions here:
//	                  directory, segments, compaction; 404 if there are none
//	GET /v1/cluster   the nodes of the cluster, who decides, how many partitions are
//	                  not as they should be
//	POST /v1/cluster/drain, POST /v1/cluster/undrain
//	                  takes a node out of service, and back (guard.go says who may)
//	GET /v1/plugins   every plugin with its state, and what is compiled in; also
//	                  /v1/plugins/NAME, /v1/plugins/NAME/logs and
//	                  /v1/plugins/NAME/metrics, the plugin's own
//	POST /v1/plugins/NAME/ACTION
//	                  changes the catalogue of plugins (guard.go says who may)
//	GET /debug/pprof/ profiles of Go's runtime, only when Options.Profiling is on
//
// The names of JSON fields stay; new ones may come.
//
// It owns its HTTP server and the JSON forms. It must not know how its facts come
// about: it gets functions.
//
// Reading needs no authentication, so the listener is on loopback unless the config
// says otherwise. Whoever installs a plugin runs code as the broker, and on loopback
// is every user of the machine and every page in a browser there; so changes need a
// token that only those can read who can read the broker's data. Every phase of a request has a deadline and a size limit, so that a
// stranger who reaches the port can't hold memory or goroutines for long.
package admin
