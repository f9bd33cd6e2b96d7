package reassignment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// fileVersion is the one version of the file of Kafka's kafka-reassign-partitions.
const fileVersion = 1

// file is how Kafka's kafka-reassign-partitions writes down where replicas shall be.
type file struct {
	Version    int             `json:"version"`
	Partitions []filePartition `json:"partitions"`
}

type filePartition struct {
	Topic     string   `json:"topic"`
	Partition *int32   `json:"partition"`
	Replicas  []int32  `json:"replicas"`
	LogDirs   []string `json:"log_dirs,omitempty"`
}

// ReadFile reads a plan from the file of Kafka's own tool; moves that change nothing in
// all are left out.
func ReadFile(text []byte, all []Partition) ([]Move, error) {
	var f file
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, err
	}
	if f.Version != fileVersion {
		return nil, fmt.Errorf("version %d, want %d", f.Version, fileVersion)
	}
	type key struct {
		topic string
		id    int32
	}
	now := map[key][]int32{}
	for _, p := range all {
		now[key{p.Topic, p.ID}] = p.Replicas
	}
	var moves []Move
	seen := map[key]bool{}
	for i, p := range f.Partitions {
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("partition %d of the file: %w", i+1, err)
		}
		k := key{p.Topic, *p.Partition}
		from, exists := now[k]
		switch {
		case !exists:
			return nil, fmt.Errorf("there is no partition %s-%d", k.topic, k.id)
		case seen[k]:
			return nil, fmt.Errorf("%s-%d is there twice", k.topic, k.id)
		}
		seen[k] = true
		if !slices.Equal(from, p.Replicas) {
			moves = append(moves, Move{k.topic, k.id, from, p.Replicas})
		}
	}
	return moves, nil
}

// check refuses what Kafka's tool would not write.
func (p *filePartition) check() error {
	for _, dir := range p.LogDirs {
		if dir != "any" {
			return errors.New("log_dirs other than any are not taken; kafka-reassign-partitions moves replicas between directories of a broker")
		}
	}
	if p.Topic == "" || p.Partition == nil || len(p.Replicas) == 0 {
		return errors.New("topic, partition or replicas are missing")
	}
	sorted := slices.Sorted(slices.Values(p.Replicas))
	if len(slices.Compact(sorted)) != len(p.Replicas) {
		return fmt.Errorf("%s-%d: a broker is twice in %v", p.Topic, *p.Partition, p.Replicas)
	}
	return nil
}
