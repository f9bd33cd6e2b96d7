package reassignment

import (
	"slices"
	"strings"
	"testing"
)

func TestFileOfKafkasTool(t *testing.T) {
	all := topicOf("t", []int32{1}, []int32{2})
	const text = `{"version":1,"partitions":[
		{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]},
		{"topic":"t","partition":1,"replicas":[2]}]}`
	moves, err := ReadFile([]byte(text), all)
	if err != nil || len(moves) != 1 || !slices.Equal(moves[0].From, []int32{1}) || !slices.Equal(moves[0].To, []int32{1, 2}) {
		t.Fatalf("%+v, %v", moves, err)
	}
	for text, want := range map[string]string{
		`{`: "unexpected EOF", `{"version":2}`: "version 2, want 1", `{"version":1,"partition":[]}`: "unknown field",
		`{"version":1,"partitions":[{"topic":"t","partition":0}]}`:                                                           "partition 1 of the file: topic, partition or replicas are missing",
		`{"version":1,"partitions":[{"topic":"t","partition":7,"replicas":[1]}]}`:                                            "there is no partition t-7",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,1]}]}`:                                          "a broker is twice",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":["/d"]}]}`:                          "log_dirs other than any",
		`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1]},{"topic":"t","partition":0,"replicas":[2]}]}`: "t-0 is there twice",
	} {
		if _, err := ReadFile([]byte(text), all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestAmong(t *testing.T) {
	pending := []Pending{{Topic: "a", Partition: 1}, {Topic: "b", Partition: 0}}
	moves := []Move{{Topic: "a", Partition: 0}, {Topic: "a", Partition: 1}, {Topic: "b", Partition: 0}}
	if n := among(moves, pending); n != 2 {
		t.Errorf("%d under way, want 2", n)
	}
}

func FuzzReadFile(f *testing.F) {
	f.Add([]byte(`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}`))
	f.Add([]byte(`{"version":1,"partitions":[{"topic":"t"}]}`))
	all := topicOf("t", []int32{1})
	f.Fuzz(func(t *testing.T, text []byte) {
		moves, err := ReadFile(text, all)
		if err != nil {
			return
		}
		if len(moves) > len(all) {
			t.Fatalf("%d partitions of %d move: %+v", len(moves), len(all), moves)
		}
		for _, m := range moves {
			if to := slices.Sorted(slices.Values(m.To)); len(to) == 0 || len(slices.Compact(to)) != len(m.To) || slices.Equal(m.To, m.From) {
				t.Fatalf("%+v is no move", m)
			}
		}
	})
}
