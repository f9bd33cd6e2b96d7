package admin

import "net/http"

// Topic is the answer of /v1/topics/NAME: what the protocol does not tell about the
// topic's partitions on this broker.
type Topic struct {
	Topic      string           `json:"topic"`
	TopicID    string           `json:"topic_id"`
	ClusterID  string           `json:"cluster_id"`
	Broker     int32            `json:"broker"`
	Partitions []TopicPartition `json:"partitions"`
}

// TopicPartition is one partition on this broker. Sizes are bytes.
type TopicPartition struct {
	Partition      int32    `json:"partition"`
	Leader         bool     `json:"leader"` // this broker leads it
	LogDir         string   `json:"log_dir"`
	LogStartOffset int64    `json:"log_start_offset"`
	LogEndOffset   int64    `json:"log_end_offset"`
	HighWatermark  int64    `json:"high_watermark"`
	SizeBytes      int64    `json:"size_bytes"`
	Segments       int      `json:"segments"`
	Offline        string   `json:"offline,omitempty"` // why its log can't be used
	Cleaner        *Cleaner `json:"cleaner,omitempty"` // nil: the topic is not compacted
}

// Cleaner is what the compaction of a partition has come to. Sizes are bytes.
type Cleaner struct {
	CleanedTo  int64  `json:"cleaned_to"` // compacted below this offset; -1: never was
	CleanBytes int64  `json:"clean_bytes"`
	DirtyBytes int64  `json:"dirty_bytes"`
	Failed     string `json:"failed,omitempty"` // why it is left alone until a restart
}

// topic answers /v1/topics/NAME.
func (s *Server) topic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if s.options.Topic != nil {
		if t, ok := s.options.Topic(name); ok {
			s.reply(w, http.StatusOK, t)
			return
		}
	}
	s.reply(w, http.StatusNotFound, map[string]string{"error": "no partition of topic " + name + " on this broker"})
}
