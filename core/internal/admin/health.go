package admin

import "net/http"

// Health is the answer of /v1/health: facts about this broker and what is wrong with
// it. Whether something is wrong is Problems being empty or not.
type Health struct {
	ClusterID     string    `json:"cluster_id"`
	Broker        int32     `json:"broker"`
	Ready         bool      `json:"ready"`
	State         string    `json:"state"`
	Recovery      Recovery  `json:"recovery"`
	LogDirs       []LogDir  `json:"log_dirs"`
	FailedCleans  int       `json:"failed_cleanings"`
	Partitions    int       `json:"partitions"` // of this broker
	Offline       int       `json:"offline_partitions"`
	UnderReplica  int       `json:"under_replicated_partitions"` // of those that it leads
	UnderMinISR   int       `json:"under_min_isr_partitions"`    // of those that it leads
	Leaderless    int       `json:"leaderless_partitions"`       // that it has a replica of
	ProblemsTotal int       `json:"problems_total"`
	Problems      []Problem `json:"problems"` // at most ProblemsMax
}

// ProblemsMax bounds the problems that are told one by one: a broken disk can hold any
// number of partitions.
const ProblemsMax = 100

// LogDir is one log directory. Sizes are bytes of its file system; -1: not known.
type LogDir struct {
	Path           string `json:"path"`
	TotalBytes     int64  `json:"total_bytes"`
	AvailableBytes int64  `json:"available_bytes"`
	Offline        string `json:"offline,omitempty"` // why it is out of use
}

// Problem is one thing that is wrong, and what to do about it.
type Problem struct {
	Kind   string `json:"kind"` // not-ready, log-dir-offline, disk-full, offline-partition, under-replicated, under-min-isr, no-leader, no-controller, fenced, failed-cleaning, plugin-not-serving, plugin-not-as-wanted
	What   string `json:"what"`
	Advice string `json:"advice"`
}

// healthReport answers /v1/health: 200 if nothing is wrong, else 503.
func (s *Server) healthReport(w http.ResponseWriter, _ *http.Request) {
	h := Health{LogDirs: []LogDir{}}
	if s.options.Health != nil {
		h = s.options.Health()
	}
	status := http.StatusOK
	if h.ProblemsTotal > 0 {
		status = http.StatusServiceUnavailable
	}
	if h.Problems == nil {
		h.Problems = []Problem{}
	}
	s.reply(w, status, h)
}

// Add notes a problem.
func (h *Health) Add(kind, what, advice string) {
	h.ProblemsTotal++
	if len(h.Problems) < ProblemsMax {
		h.Problems = append(h.Problems, Problem{Kind: kind, What: what, Advice: advice})
	}
}
